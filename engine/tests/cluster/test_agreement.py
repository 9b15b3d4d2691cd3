"""A node that would give other bytes is refused by name, with what differs."""

import copy
from typing import Any

import pytest

from mucast_engine.cluster.agreement import agreed, differences_from
from mucast_engine.cluster.fault import ClusterError

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
HERE = {"numpy": "2.4.6", "lightgbm": "4.7.0"}


def other(part: str, name: str | None, value: object, **changes: Any) -> dict[str, Any]:
    greeting = copy.deepcopy({**GREETING, **changes})
    if name is None:
        greeting[part] = value
    else:
        greeting[part][name] = value
    return greeting


def refusal(**greetings: dict[str, Any]) -> ClusterError:
    with pytest.raises(ClusterError) as raised:
        agreed(greetings, HERE, GREETING["engine"])
    assert raised.value.code == "engine_unavailable"
    return raised.value


def test_nodes_that_agree_share_one_greeting() -> None:
    assert agreed({"a": GREETING, "b": copy.deepcopy(GREETING)}, HERE, GREETING["engine"]) == GREETING


def test_another_version_is_named_with_its_node_and_both_versions() -> None:
    error = refusal(a=GREETING, b=other("versions", "lightgbm", "4.6.0"))
    assert "b has lightgbm 4.6.0, this machine 4.7.0" in error.message
    assert error.data["nodes"] == ["b"]
    assert error.data["differences"] == [
        {"node": "b", "what": "lightgbm", "found": "4.6.0", "other": "this machine", "expected": "4.7.0"}
    ]
    assert "--portable" not in error.message


def test_every_node_may_have_another_version_than_this_machine() -> None:
    error = refusal(a=other("versions", "numpy", "2.3.0"), b=other("versions", "numpy", "2.3.0"))
    assert error.data["nodes"] == ["a", "b"]


def test_another_engine_is_refused() -> None:
    assert "b has the engine ffffffffffff" in refusal(a=GREETING, b=other("engine", None, "f" * 64)).message


def test_other_threads_are_refused() -> None:
    error = refusal(a=GREETING, b=other("threads", "openmp", None))
    assert "b has threads of openmp None, a 1" in error.message
    assert "--portable" not in error.message


OLDER = other("machine", "numpy_dispatch", ["X86_V3"])
ANOTHER = other("machine", "processor", "x86_64 AuthenticAMD family 25 model 17")


@pytest.mark.parametrize("greeting", [OLDER, ANOTHER])
def test_where_only_the_kernels_differ_portable_is_named(greeting: dict[str, Any]) -> None:
    assert "--portable" in refusal(a=GREETING, b=greeting).message


def test_with_pinned_kernels_processors_may_differ() -> None:
    pinned = other("machine", "numpy_dispatch", ["X86_V3"], kernel_level="x86-64-v3")
    also = copy.deepcopy(pinned)
    also["machine"]["processor"] = "another"
    assert agreed({"a": pinned, "b": also}, HERE, GREETING["engine"])["kernel_level"] == "x86-64-v3"
    assert differences_from("b", also, pinned) == []


def test_a_processor_below_the_level_is_refused() -> None:
    below = other("machine", "numpy_dispatch", [], kernel_level="x86-64-v3")
    assert "which the processor of a is not" in refusal(a=below, b=copy.deepcopy(below)).message


def test_a_node_that_comes_later_is_held_to_the_others() -> None:
    assert differences_from("c", copy.deepcopy(GREETING), GREETING) == []
    assert [one["what"] for one in differences_from("c", OLDER, GREETING)] == ["NumPy's kernels"]


def test_of_many_differences_ten_are_listed() -> None:
    greetings = {f"n{number:02}": other("versions", "numpy", "1.0") for number in range(30)}
    error = refusal(**greetings)
    assert "and 20 more" in error.message
    assert len(error.data["differences"]) == 10
