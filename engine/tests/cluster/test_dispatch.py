"""A task's start, its answer and its end, on a fake cluster whose clock the test moves."""

from typing import Any

import numpy as np
import pytest
from stage import GREETING, ConnectionOfTaskError, ObjectFreedError, OutOfMemoryError, Stage

from mucast_engine.cluster.dispatch import KILL_SECONDS, LOST_ARRAYS, MEMORY_PAUSE_SECONDS
from mucast_engine.cluster.fault import ConnectionLostError
from mucast_engine.cluster.runs import Runs


def test_a_result_comes_after_all_its_progress_and_its_file(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a", 0, {"fit": 0})
    stage.answer("10.1", stage.result(updates=[{"fit": 0}, {"fit": 1}]))
    told = [(message["event"], message.get("fit")) for message in stage.messages]
    assert told == [("worker_started", None), ("progress", 0), ("progress", 1), ("result", None)]
    assert np.load(stage.folder / "p1.npy").tolist() == [0, 1, 2]


def test_no_task_goes_to_a_node_without_cores(stage: Stage) -> None:
    stage.give()
    assert stage.session.started[0][1] == ["h"]


def test_a_cancel_is_repeated_and_in_the_end_not_waited_for(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a")
    stage.dispatch.kill(1)
    assert stage.after(1.0) == []
    assert stage.session.canceled == ["10.1", "10.1"]
    assert stage.after(KILL_SECONDS)[0]["reason"] == "it was canceled; its node does not answer"


def test_a_result_that_a_cancel_overtook_is_not_told(stage: Stage) -> None:
    stage.give()
    stage.dispatch.kill(1)
    stage.answer("10.1", stage.result())
    assert (stage.last["event"], stage.last["reason"]) == ("worker_exited", "it was canceled")
    assert not (stage.folder / "p1.npy").exists()


def test_a_node_that_turns_out_to_differ_gets_no_task_and_costs_no_attempt(stage: Stage) -> None:
    stage.give()
    stage.answer("10.1", {"node": "a", "refused": GREETING})
    assert [(request["key"], avoid) for request, avoid in stage.session.started][1:] == [("10.2", ["a", "h"])]
    stage.answer("10.2", stage.result("b"))
    assert [message["event"] for message in stage.messages] == ["worker_started", "slots", "result"]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        [],
        "result",
        {"node": ["a"]},
        {"node": "a", "message": None, "arrays": [], "updates": []},
        {"node": "a", "refused": {}},
        {"node": "nowhere", "refused": GREETING},
    ],
)
def test_what_is_no_answer_costs_the_attempt(stage: Stage, answer: Any) -> None:
    stage.give()
    stage.answer("10.1", answer)
    assert (stage.last["event"], stage.last["reason"]) == (
        "worker_exited",
        "its node answered with something else than a result",
    )


def test_an_array_that_the_task_does_not_name_is_not_written(stage: Stage) -> None:
    stage.give()
    elsewhere = stage.folder / "elsewhere.npy"
    stage.answer("10.1", {**stage.result(), "arrays": [[str(elsewhere), b"12345678"]]})
    assert (stage.last["event"], stage.last["reason"]) == (
        "worker_exited",
        "its node answered with something else than a result",
    )
    assert not elsewhere.exists()


def test_no_message_of_a_node_passes_for_one_of_the_gateway(stage: Stage) -> None:
    stage.give()
    forged = {"id": 999, "event": "worker_exited", "worker": 4}
    stage.tell("10.1", "a", 0, forged)
    stage.answer("10.1", stage.result(updates=[forged, forged]))
    assert [(message["event"], message.get("id")) for message in stage.messages] == [
        ("worker_started", None),
        ("progress", 10),
        ("progress", 10),
        ("result", 10),
    ]


@pytest.mark.parametrize(
    "told",
    [None, "told", [None], [("10.1",)], [("10.1", "a", "0", [])], [("10.1", "a", 0, [[]])], [(["10.1"], "a", 0, [])]],
)
def test_what_a_node_tells_that_is_no_progress_is_passed_over(stage: Stage, told: Any) -> None:
    stage.give()
    stage.session.told(told)
    stage.tell("10.1", "a", 0, {"fit": 0})
    assert stage.last == {"event": "progress", "id": 10, "fit": 0}


def test_another_node_cannot_tell_for_the_one_that_has_the_task(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a")
    stage.tell("10.1", "b", 0, {"fit": 0})
    assert stage.last["event"] == "worker_started"


def test_an_exception_of_a_task_is_no_lost_connection(stage: Stage) -> None:
    """Ray gives it the class of its cause besides."""
    stage.give()
    stage.answer("10.1", ConnectionOfTaskError("reset by peer"))
    assert (stage.last["event"], stage.last["reason"]) == ("worker_exited", "it could not run: reset by peer")


def test_a_node_that_refuses_for_all_others_does_not_keep_the_task_going_for_ever(stage: Stage) -> None:
    stage.give()
    for attempt in range(1, 4):
        stage.answer(f"10.{attempt}", {"node": "ab"[(attempt - 1) % 2], "refused": GREETING})
    assert len(stage.session.started) == 3
    assert stage.last["event"] == "worker_exited"


def test_a_message_finds_its_task_without_a_search(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands come in a second from tasks on a hundred nodes."""
    for worker in range(1, 20):
        stage.give(worker)
    searched: list[Runs] = []
    monkeypatch.setattr(Runs, "__iter__", lambda runs: (searched.append(runs), iter([]))[1])
    for worker in range(1, 20):
        stage.tell(f"{worker}0.1", "a", 0, {"fit": 0})
        stage.answer(f"{worker}0.1", stage.result("a", worker))
        assert stage.last["event"] == "result"
    assert searched == []


def test_an_array_that_is_lost_is_put_again_and_costs_no_attempt(stage: Stage) -> None:
    stage.give()
    assert stage.session.puts == 2
    for attempt in range(1, LOST_ARRAYS + 1):
        stage.answer(f"10.{attempt}", ObjectFreedError())
        assert stage.session.puts == 2 * (attempt + 1)
    stage.answer(f"10.{LOST_ARRAYS + 1}", ObjectFreedError())
    assert stage.last["event"] == "worker_exited"


def test_a_task_over_the_memory_of_its_node_is_tried_again_alone_on_one(stage: Stage) -> None:
    stage.muster.resize("b", 4.0)
    stage.give()
    stage.answer("10.1", OutOfMemoryError())
    assert stage.last["reason"] == "it was over the memory of its node"
    stage.give()
    assert len(stage.session.started) == 1  # The memory is not free yet.
    stage.after(MEMORY_PAUSE_SECONDS)
    assert (len(stage.session.started), stage.session.cpus) == (2, 4.0)
    stage.give()
    assert stage.session.cpus == 1.0


@pytest.mark.parametrize("where", ["answer", "told"])
def test_a_connection_that_is_lost_ends_the_gateway(stage: Stage, where: str) -> None:
    stage.give()
    with pytest.raises(ConnectionLostError):
        if where == "answer":
            stage.answer("10.1", ConnectionError("the head is gone"))
        else:
            stage.session.told(RuntimeError("the relay is gone"))
