"""Processes and nodes that die or fall silent, on a fake cluster whose clock the test moves."""

import pytest
from stage import Stage, WorkerCrashedError

from mucast_engine.cluster.deaths import UNTOLD_SECONDS, VERDICT_SECONDS
from mucast_engine.cluster.fault import ConnectionLostError
from mucast_engine.cluster.hearing import LOST_SECONDS
from mucast_engine.cluster.runs import DELAYED_SECONDS, SILENT_SECONDS
from mucast_engine.cluster.waiting import STUCK_SECONDS


def test_a_process_that_died_on_a_node_that_lives(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a")
    stage.answer("10.1", WorkerCrashedError())
    stage.session.reached[0](True)
    assert (stage.last["node"], stage.last["reason"]) == ("10.0.0.1", "its process was killed")
    assert stage.muster.left_out == []


def test_a_node_that_was_lost_with_its_process(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a")
    stage.answer("10.1", WorkerCrashedError())
    stage.session.reached[0](False)
    assert (stage.last["node"], stage.last["reason"]) == ("10.0.0.1", "the node 10.0.0.1 was lost")
    assert stage.muster.left_out == [("a", "the node was lost")]


def test_a_node_that_is_lost_before_its_task_says_so(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a")
    stage.muster.lose("a", "it does not answer")
    assert (stage.last["node"], stage.last["reason"]) == ("10.0.0.1", "the node 10.0.0.1 was lost")
    assert stage.session.canceled == ["10.1"]
    stage.answer("10.1", WorkerCrashedError())
    assert stage.last["event"] == "worker_exited"
    assert stage.session.reached == []


def test_a_task_that_ray_may_have_taken_to_a_lost_node_goes_to_another_and_costs_no_attempt(stage: Stage) -> None:
    stage.give()
    stage.muster.lose("a", "the node was lost")
    assert stage.session.canceled == ["10.1"]
    assert [(request["key"], avoid) for request, avoid in stage.session.started][1:] == [("10.2", ["a", "h"])]
    stage.answer("10.1", WorkerCrashedError())
    stage.answer("10.2", stage.result("b"))
    assert [message["event"] for message in stage.messages] == ["worker_started", "slots", "result"]


def test_a_process_that_died_before_the_gateway_heard_of_its_node(stage: Stage) -> None:
    stage.give()
    stage.answer("10.1", WorkerCrashedError())
    assert stage.session.reached == []
    stage.tell("10.1", "b")
    stage.session.reached[0](False)
    assert stage.last["reason"] == "the node 10.0.0.2 was lost"


def test_a_slot_that_is_ended_while_a_death_is_looked_into_ends_once(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a")
    stage.answer("10.1", WorkerCrashedError())
    stage.dispatch.kill(1)
    stage.session.reached[0](True)
    ends = [message["reason"] for message in stage.messages if message["event"] == "worker_exited"]
    assert ends == ["it was canceled"]
    assert stage.after(VERDICT_SECONDS + 1) == []


def test_a_task_whose_death_is_looked_into_is_not_sent_again_for_want_of_a_node_that_can_hold_it(stage: Stage) -> None:
    stage.muster.resize("a", 2.0)
    stage.give(cpus=2)
    stage.answer("10.1", WorkerCrashedError())
    stage.muster.resize("a", 0.0)
    assert stage.after(0.1) == []
    assert len(stage.session.started) == 1


def test_a_node_that_is_lost_while_arrays_are_put_gets_no_task_for_which_they_are(stage: Stage) -> None:
    def lose() -> None:
        stage.session.on_put = lambda: None
        stage.muster.lose("a", "the node was lost")

    stage.session.on_put = lose
    stage.give()
    assert [(request["key"], avoid) for request, avoid in stage.session.started] == [
        ("10.1", ["h"]),
        ("10.2", ["a", "h"]),
    ]
    assert stage.session.canceled == ["10.1"]


def test_a_death_without_a_node_is_not_waited_for_long(stage: Stage) -> None:
    stage.give()
    stage.answer("10.1", WorkerCrashedError())
    assert stage.after(UNTOLD_SECONDS) == []
    assert stage.after(0.1)[0]["reason"] == "its process was killed"


def test_a_node_that_is_lost_with_several_processes_is_lost_once(stage: Stage) -> None:
    stage.muster.resize("a", 2.0)
    for worker in (1, 2):
        stage.give(worker)
        stage.tell(f"{worker}0.1", "a")
    stage.give(3)
    for worker in (1, 2):
        stage.answer(f"{worker}0.1", WorkerCrashedError())
    for tell in list(stage.session.reached):
        tell(False)
    assert stage.muster.left_out == [("a", "the node was lost")]
    assert [request["key"] for request, _ in stage.session.started] == ["10.1", "20.1", "30.1", "30.2"]
    assert [message["worker"] for message in stage.messages if message["event"] == "worker_exited"] == [1, 2]


def test_the_arrays_of_a_node_that_froze_before_it_began_are_put_again(stage: Stage) -> None:
    stage.give()
    stage.after(DELAYED_SECONDS + 1)
    stage.session.pinged["b"]("here")
    stage.after(STUCK_SECONDS - DELAYED_SECONDS)
    assert stage.muster.left_out == [("a", "it does not answer")]
    assert (len(stage.session.started), stage.session.puts) == (2, 4)


def test_an_attempt_that_has_begun_elsewhere_is_not_replaced_when_the_cluster_has_taken_it(stage: Stage) -> None:
    """What it tells may come before that Ray has it."""

    def begin_and_lose() -> None:
        stage.session.on_put = lambda: None
        stage.tell("10.1", "b")
        stage.muster.lose("a", "the node was lost")

    stage.session.on_put = begin_and_lose
    stage.give()
    assert [request["key"] for request, _ in stage.session.started] == ["10.1"]
    assert stage.session.canceled == []


@pytest.mark.parametrize("fault", ["killed", "frozen"])
def test_the_arrays_of_a_lost_node_are_put_again(stage: Stage, fault: str) -> None:
    """Ray would ask that node for the copies that it had, for ten seconds."""
    stage.give()
    stage.tell("10.1", "a")
    stage.answer("10.1", WorkerCrashedError())
    stage.session.reached[0](True)
    stage.give_again()
    stage.tell("10.1", "a")
    assert stage.session.puts == 2
    if fault == "killed":
        stage.muster.lose("a", "the node was lost")
    else:
        stage.after(SILENT_SECONDS + 1)
    stage.give_again()
    assert stage.session.puts == 4


def test_a_head_that_cannot_say_whether_a_node_lives_does_not_keep_the_task(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a")
    stage.answer("10.1", WorkerCrashedError())
    assert stage.after(VERDICT_SECONDS) == []
    assert stage.after(0.1)[0]["reason"] == "its process was killed"


def test_a_node_that_is_silent_loses_its_task_and_gets_no_other(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a")
    assert stage.after(SILENT_SECONDS) == []
    assert stage.after(1.0) == [
        {
            "event": "slots",
            "slots": 1,
            "added": [],
            "lost": [{"name": "10.0.0.1", "reason": "it does not answer"}],
        },
        {"event": "worker_exited", "worker": 1, "node": "10.0.0.1", "reason": "its node did not answer for 75 s"},
    ]
    assert stage.session.canceled == ["10.1"]
    stage.give(2)
    assert stage.session.started[-1][1] == ["a", "h"]
    stage.answer("10.1", stage.result())  # Too late: the pool has it tried elsewhere.
    assert stage.last["event"] == "worker_started"


def test_nodes_whose_words_wait_behind_an_array_are_not_taken_to_be_silent(stage: Stage) -> None:
    """Ray's client asks nothing while it sends one."""
    stage.give(1)
    stage.tell("10.1", "a")
    stage.give(2)
    stage.sender.putting = 500_000_000
    for _ in range(4):
        assert {message["event"] for message in stage.after(100.0, hears=False)} <= {"delayed"}
    stage.sender.putting = 0
    assert stage.after(0.0, hears=False) == []
    stage.session.told([])
    assert stage.after(SILENT_SECONDS - 1) == []
    assert (stage.muster.left_out, stage.session.canceled) == ([], [])
    assert [message["reason"] for message in stage.after(2.0) if message["event"] == "worker_exited"] == [
        "its node did not answer for 75 s"
    ]


def test_a_relay_that_is_not_heard_again_is_a_lost_connection(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a")
    assert stage.after(LOST_SECONDS, hears=False) == []
    with pytest.raises(ConnectionLostError, match="has not said how its tasks are for 36 s"):
        stage.after(1.0, hears=False)
