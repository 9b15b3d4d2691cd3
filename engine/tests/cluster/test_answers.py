"""What a node hands back is taken if it is what the task asks for, and else it is none."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mucast_engine.cluster.answers import MAX_UPDATE_LENGTH, is_greeting, read_answer, read_inspection, read_told
from mucast_engine.cluster.requests import TaskRequest

REQUEST = TaskRequest(1, 1, "fit_predict", b"{}", [], ["p.npy", "q.npy"], 1.0, 0.0, None)
REF = {"ref": "p.npy", "dtype": "<f8", "shape": [3], "order": "C"}
BYTES = np.arange(3.0).tobytes()
RESULT = {"event": "result", "result": {"predictions": REF, "seconds": [0.1]}}
ERROR = {"event": "error", "code": "fit_failed", "message": "why", "data": {}}
ANSWER: dict[str, Any] = {"node": "a", "message": RESULT, "arrays": [["p.npy", BYTES]], "updates": [{"fit": 0}]}
GREETING = {
    "versions": {"python": "3.11.7"},
    "threads": {"mkl": None},
    "kernel_level": None,
    "machine": {"processor": "one", "numpy_dispatch": []},
    "engine": "e",
}


def test_a_result_with_its_arrays() -> None:
    read = read_answer(ANSWER, REQUEST)
    assert read is not None
    assert (read.message, read.updates) == (RESULT, [{"fit": 0}])
    assert [(ref, values.tolist()) for ref, values in read.arrays] == [("p.npy", [0, 1, 2])]


def test_a_stack_names_the_arrays_of_the_networks_that_did_not_fail() -> None:
    message = {"event": "result", "result": {"results": [ERROR, {"predictions": REF}]}}
    assert read_answer({**ANSWER, "message": message}, REQUEST) is not None


@pytest.mark.parametrize(("value", "is_taken"), [(np.nan, True), (np.inf, False)])
def test_a_joint_network_has_no_prediction_where_a_ticker_has_no_window(value: float, is_taken: bool) -> None:
    arrays = [["p.npy", np.array([0.0, value, 1.0]).tobytes()]]
    read = read_answer({**ANSWER, "arrays": arrays}, REQUEST._replace(kind="train_joint"))
    assert (read is not None) == is_taken


def test_an_error_of_the_task() -> None:
    read = read_answer({**ANSWER, "message": ERROR, "arrays": []}, REQUEST)
    assert read is not None
    assert read.message == ERROR


def with_result(**changes: Any) -> dict[str, Any]:
    return {"message": {"event": "result", "result": {"predictions": {**REF, **changes}}}}


@pytest.mark.parametrize(
    "changes",
    [
        {"arrays": []},
        {"arrays": None},
        {"arrays": [["p.npy"]]},
        {"arrays": [["p.npy", BYTES], ["p.npy", BYTES]]},
        {"arrays": [["p.npy", BYTES], ["q.npy", BYTES]]},
        {"arrays": [["q.npy", BYTES]]},
        {"arrays": [[["p.npy"], BYTES]]},
        {"arrays": [["p.npy", BYTES[:-8]]]},
        {"arrays": [["p.npy", BYTES[:-1]]]},
        {"arrays": [["p.npy", "text"]]},
        {"arrays": [["p.npy", np.array([0.0, np.nan, 1.0]).tobytes()]]},
        {**with_result(ref="../p.npy"), "arrays": [["../p.npy", BYTES]]},
        with_result(shape=[3, 1]),
        with_result(shape=3),
        with_result(shape=[3.5]),
        {"updates": 5},
        {"updates": [5]},
        {"updates": [{"loss": float("nan")}]},
        {"updates": [{"text": "x" * MAX_UPDATE_LENGTH}]},
        {"message": {**RESULT, "id": 999}},
        {"message": {"event": "worker_exited", "worker": 1}},
        {"message": {"event": ["result"], "result": {}}},
        {"message": {"event": "result", "result": {"seconds": [float("inf")]}}, "arrays": []},
        {"message": {"event": "result", "result": b"bytes"}, "arrays": []},
        {"message": ERROR},
        {"message": {**ERROR, "code": "cancelled"}, "arrays": []},
        {"message": {**ERROR, "code": ["fit_failed"]}, "arrays": []},
        {"message": {**ERROR, "data": None}, "arrays": []},
        {"more": 1},
    ],
    ids=str,
)
def test_what_is_no_answer(changes: dict[str, Any]) -> None:
    assert read_answer({**ANSWER, **changes}, REQUEST) is None


def test_what_lies_too_deep_is_no_answer() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert read_answer({**ANSWER, "message": {"event": "result", "result": deep}}, REQUEST) is None


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.sampled_from([*ANSWER, *RESULT, *GREETING]), parts),
    max_leaves=8,
)


@settings(max_examples=40)
@given(ANYTHING, st.sampled_from(list(ANSWER)))
def test_nothing_that_a_node_hands_back_raises(value: Any, member: str) -> None:
    read_answer(value, REQUEST)
    read_answer({**ANSWER, member: value}, REQUEST)
    read_answer({**ANSWER, "message": {"event": "result", "result": value}}, REQUEST)
    list(read_told(value))
    list(read_told([("1.1", "a", 0, value), (value, "a", 0, [])]))
    assert read_inspection(value).keys() <= {"greeting", "fault"}


@pytest.mark.parametrize("part", list(GREETING))
def test_a_greeting_lacks_nothing(part: str) -> None:
    assert is_greeting(GREETING)
    assert not is_greeting({name: value for name, value in GREETING.items() if name != part})
    assert not is_greeting({**GREETING, part: 5})


def test_a_node_that_answers_an_inspection_otherwise_has_a_fault() -> None:
    assert read_inspection({"node": "a", "greeting": GREETING}) == {"greeting": GREETING}
    assert read_inspection({"node": "a", "fault": "no module"}) == {"fault": "no module"}
    assert read_inspection(RuntimeError("the worker\ndied")) == {"fault": "the worker died"}
    assert read_inspection(None) == {"fault": "it answered with something else than a greeting"}
