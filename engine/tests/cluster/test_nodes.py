"""Ray's list of nodes as the gateway reads it, and which of them take tasks."""

from typing import Any

from mucast_engine.cluster.nodes import Membership, read_nodes
from mucast_engine.cluster.requests import TaskRequest


def row(id: str, address: str, alive: bool = True, **resources: float) -> dict[str, Any]:
    return {"NodeID": id, "Alive": alive, "NodeManagerAddress": address, "Resources": resources}


HEAD = row("h" * 56, "10.0.0.1", **{"node:__internal_head__": 1.0, "object_store_memory": 2e9})
A = row("a" * 56, "10.0.0.2", CPU=4.0, memory=8e9)
B = row("b" * 56, "10.0.0.3", CPU=2.0, GPU=1.0)


def task(**changes: Any) -> TaskRequest:
    return TaskRequest(1, 1, "fit_predict", b"{}", [], [], 1.0, 0.0, None)._replace(**changes)


def membership(*rows: dict[str, Any]) -> Membership:
    found = Membership()
    found.update(read_nodes(list(rows)))
    for one in rows:
        if one["Resources"].get("CPU"):
            found.admit(one["NodeID"])
    return found


def test_a_node_is_named_by_its_address() -> None:
    nodes = read_nodes([HEAD, A, row("d", "10.0.0.9", alive=False, CPU=8.0)])
    assert [node.name for node in nodes.values()] == ["10.0.0.2", "10.0.0.1"]
    assert [node.is_head for node in nodes.values()] == [False, True]
    assert nodes[A["NodeID"]].described == {"name": "10.0.0.2", "cpus": 4.0, "gpus": 0.0, "memory_bytes": 8_000_000_000}


def test_two_nodes_of_one_machine_have_different_names() -> None:
    nodes = read_nodes([row("aaaaaaaabb", "10.0.0.2", CPU=1.0), row("ccccccccdd", "10.0.0.2", CPU=1.0)])
    assert [node.name for node in nodes.values()] == ["10.0.0.2 (aaaaaaaa)", "10.0.0.2 (cccccccc)"]


def test_a_name_that_was_told_stays_when_a_second_node_comes_to_the_same_machine() -> None:
    nodes = membership(A)
    nodes.update(read_nodes([A, row("d" * 56, "10.0.0.2", CPU=1.0)]))
    assert [node.name for node in nodes.nodes.values()] == ["10.0.0.2", "10.0.0.2 (dddddddd)"]
    assert nodes.name_of(A["NodeID"]) == "10.0.0.2"


def test_a_head_without_cores_takes_no_task_and_gives_no_slot() -> None:
    found = membership(HEAD, A, B)
    assert found.slots == 6
    assert [node.name for node in found.members] == ["10.0.0.2", "10.0.0.3"]
    assert found.options_of(task()) == {"num_cpus": 1.0}


def test_a_node_gets_tasks_once_it_is_admitted() -> None:
    found = membership(HEAD, A)
    assert (found.update(read_nodes([HEAD, A, B])), found.slots) == ([], 4)
    assert found.options_of(task())["label_selector"] == {"ray.io/node-id": f"!in({B['NodeID']})"}
    found.admit(B["NodeID"])
    assert (found.slots, found.options_of(task())) == (6, {"num_cpus": 1.0})


def test_a_node_that_is_gone_is_told_once_and_keeps_its_name() -> None:
    found = membership(HEAD, A, B)
    assert found.update(read_nodes([HEAD, A])) == [B["NodeID"]]
    assert found.update(read_nodes([HEAD, A])) == []
    assert (found.name_of(B["NodeID"]), found.slots) == ("10.0.0.3", 4)


def test_an_excluded_node_gives_no_slot_until_it_is_admitted_again() -> None:
    found = membership(HEAD, A, B)
    found.exclude(A["NodeID"], "it does not answer")
    assert (found.slots, found.excluded) == (2, {A["NodeID"]: "it does not answer"})
    found.admit(A["NodeID"])
    assert (found.slots, found.excluded) == (6, {})


def test_one_node_has_to_hold_all_that_a_task_needs() -> None:
    found = membership(HEAD, A, B)
    assert found.can_hold(task(cpus=4.0))
    assert found.can_hold(task(cpus=2.0, gpus=1.0))
    assert not found.can_hold(task(cpus=4.0, gpus=1.0))
    assert not found.can_hold(task(gpus=2.0))
    assert found.can_hold(task(memory=8_000_000_000))
    assert not found.can_hold(task(memory=8_000_000_001))
    assert not found.can_hold(task(cpus=4.0, node="10.0.0.3"))


def test_a_task_gets_no_more_cores_than_the_largest_node_has_and_an_inquiry_a_node_with_a_gpu() -> None:
    found = membership(HEAD, A, B)
    assert found.fitted(task(cpus=9.0)).cpus == 4
    assert found.fitted(task(kind="device")).gpus > 0
    assert membership(A).fitted(task(kind="device")).gpus == 0
