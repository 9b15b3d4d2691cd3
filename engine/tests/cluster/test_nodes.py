"""Ray's list of nodes as the gateway reads it, which of them take tasks, and what tells their bytes apart."""

import copy
from typing import Any

from mucast_engine.cluster.nodes import Needs, Nodes, differences, facts_of, listed


def row(id: str, address: str, alive: bool = True, **resources: float) -> dict[str, Any]:
    return {"NodeID": id, "Alive": alive, "NodeManagerAddress": address, "Resources": resources}


HEAD = row("h" * 56, "10.0.0.1", **{"node:__internal_head__": 1.0, "object_store_memory": 2e9})
A = row("a" * 56, "10.0.0.2", CPU=4.0, memory=8e9)
B = row("b" * 56, "10.0.0.3", CPU=2.0, GPU=1.0)
CORE = Needs(1, 0, 0, None)


def nodes_of(*rows: dict[str, Any]) -> Nodes:
    nodes = Nodes()
    nodes.update(list(rows))
    for id in nodes.with_cores:
        nodes.admit(id)
    return nodes


def test_members_are_the_living_nodes_that_were_admitted() -> None:
    nodes = nodes_of(HEAD, A, row("d" * 56, "10.0.0.9", alive=False, CPU=8.0))
    assert ([node.name for node in nodes.members], nodes.slots) == (["10.0.0.2"], 4)
    assert (nodes.head, nodes.head_store_bytes) == (HEAD["NodeID"], 2_000_000_000)
    assert (nodes.update([HEAD, A, B]), nodes.slots) == ([], 4)
    nodes.admit(B["NodeID"])
    assert nodes.slots == 6
    nodes.admit(A["NodeID"], "it differs")
    assert (nodes.slots, nodes.excluded) == (2, {A["NodeID"]: "it differs"})
    assert nodes.update([HEAD]) == ["10.0.0.3"]
    assert (nodes.slots, nodes.excluded, nodes.name_of(A["NodeID"])) == (0, {}, "10.0.0.2")


def test_two_nodes_of_one_machine_have_different_names_and_keep_them() -> None:
    nodes = nodes_of(row("aaaaaaaabb", "10.0.0.2", CPU=1.0))
    nodes.update([row("aaaaaaaabb", "10.0.0.2", CPU=1.0), row("ccccccccdd", "10.0.0.2", CPU=1.0)])
    assert [node.name for node in nodes.alive.values()] == ["10.0.0.2", "10.0.0.2 (cccccccc)"]


def test_one_node_has_to_have_all_that_a_task_needs() -> None:
    nodes = nodes_of(HEAD, A, B)
    for fits in (CORE, CORE._replace(cpus=4), CORE._replace(gpus=1), CORE._replace(node="10.0.0.3")):
        assert nodes.can_hold(fits)
    for larger in ({"cpus": 5}, {"cpus": 3, "gpus": 1}, {"memory": 8_000_000_001}, {"node": "10.0.0.1"}):
        assert not nodes.can_hold(CORE._replace(**larger))


def test_needs_are_told_in_words() -> None:
    assert str(CORE) == "a core"
    assert str(Needs(4, 1, 2**30, None)) == "4 cores and 1 GPUs and 1,024 MiB of memory"
    assert listed([str(number) for number in range(12)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 2 more"


GREETING: dict[str, Any] = {
    "versions": {"python": "3.11.7", "numpy": "2.4.6", "lightgbm": "4.7.0"},
    "threads": {"openmp": 1, "openblas": 1, "mkl": 1},
    "kernel_level": None,
    "machine": {
        "processor": "x86_64 GenuineIntel family 6 model 85",
        "numpy_dispatch": ["X86_V3", "X86_V4"],
        "torch_capability": None,
        "blas": {"numpy": {"name": "openblas", "version": "0.3.30", "kernel": "SkylakeX"}},
    },
    "engine": "e" * 64,
}


def changed(part: str, name: str, value: object, **changes: Any) -> list[str]:
    """What tells a node apart from one with GREETING, where its `part` has another `name`."""
    first = {**GREETING, **changes}
    other = copy.deepcopy(first)
    other[part][name] = value
    return list(differences(facts_of(other), facts_of(first)).values())


def test_all_that_decides_bytes_tells_nodes_apart() -> None:
    assert changed("versions", "lightgbm", "4.6.0") == ["lightgbm 4.6.0 instead of 4.7.0"]
    assert changed("threads", "openmp", 2) == ["threads of openmp 2 instead of 1"]
    assert changed("machine", "numpy_dispatch", ["X86_V3"]) == [
        "NumPy's kernels ['X86_V3'] instead of ['X86_V3', 'X86_V4']"
    ]
    assert changed("machine", "processor", "arm") == [
        f"the processor arm instead of {GREETING['machine']['processor']}"
    ]
    assert changed("machine", "processor", "arm", kernel_level="x86-64-v3") == []
    facts = facts_of(GREETING)
    assert differences(facts_of({**GREETING, "engine": "f" * 64}), facts) == {
        "the engine": "the engine ffffffffffff instead of eeeeeeeeeeee"
    }
