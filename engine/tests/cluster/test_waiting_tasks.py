"""Tasks that no node has begun, on a fake cluster whose clock the test moves."""

import pytest
from stage import Stage, WorkerCrashedError

from mucast_engine.cluster.fault import ClusterError
from mucast_engine.cluster.runs import DELAYED_SECONDS, PLACEMENT_SECONDS
from mucast_engine.cluster.waiting import STUCK_SECONDS


def test_a_task_for_one_node_ends_when_that_is_there_no_more(stage: Stage) -> None:
    stage.give(1, node="10.0.0.1")
    assert stage.session.started[0][1] == ["b", "h"]
    assert stage.after(1.0) == []
    stage.muster.leave_out("a", "the node was lost")
    reason = "the node 10.0.0.1 takes no tasks any more"
    assert stage.after(1.0) == [{"event": "worker_exited", "worker": 1, "node": None, "reason": reason}]
    assert stage.session.canceled == ["10.1"]


def test_a_task_ahead_waits_for_a_slot_as_long_as_all_are_at_work(stage: Stage) -> None:
    for worker in (1, 2, 3):
        stage.give(worker)

    def tell() -> None:
        stage.tell("10.1", "a")
        stage.tell("20.1", "b")

    tell()
    for _ in range(4):
        stage.after(STUCK_SECONDS / 2)
        tell()
    assert len(stage.session.started) == 3
    stage.answer("10.1", stage.result("a", 1))
    stage.tell("20.1", "b")
    stage.after(STUCK_SECONDS / 2)
    assert len(stage.session.started) == 3
    stage.tell("20.1", "b")
    stage.after(STUCK_SECONDS / 2 + 1)
    assert [request["key"] for request, _ in stage.session.started][3:] == ["30.2"]


def test_a_task_that_no_node_can_hold_is_told_and_in_the_end_given_up(stage: Stage) -> None:
    stage.give(gpus=1)
    assert stage.after(0) == []
    assert stage.after(DELAYED_SECONDS + 1)[0]["event"] == "delayed"
    assert stage.after(1.0) == []
    with pytest.raises(ClusterError, match="a core and 1 GPUs") as raised:
        stage.after(PLACEMENT_SECONDS)
    assert (raised.value.code, raised.value.data) == ("engine_unavailable", {"cpus": 1.0, "gpus": 1.0})


def test_a_task_that_takes_more_memory_than_any_node_has_is_told_with_the_bytes(stage: Stage) -> None:
    stage.give(memory=3 * 2**30)
    assert stage.after(0) == []
    delayed = stage.after(DELAYED_SECONDS + 1)[0]
    assert "a node that has a core and 3,072 MiB of memory" in delayed["message"]
    stage.after(1.0)
    with pytest.raises(ClusterError, match="a core and 3,072 MiB of memory") as raised:
        stage.after(PLACEMENT_SECONDS)
    assert raised.value.data == {"cpus": 1.0, "gpus": 0.0, "memory_bytes": 3 * 2**30}


def test_a_cluster_that_has_lost_all_its_nodes_is_told_and_in_the_end_given_up(stage: Stage) -> None:
    """No task is given to it then, so none waits here."""
    stage.muster.leave_out("a", "the node was lost")
    stage.muster.leave_out("b", "it does not answer")
    assert stage.last["slots"] == 0
    assert stage.after(0) == []
    assert [message["event"] for message in stage.after(DELAYED_SECONDS + 1)] == ["delayed"]
    assert stage.after(1.0) == []
    with pytest.raises(ClusterError, match="no node for tasks, for 300 s") as raised:
        stage.after(PLACEMENT_SECONDS)
    lost = [
        {"name": "10.0.0.1", "reason": "the node was lost"},
        {"name": "10.0.0.2", "reason": "it does not answer"},
    ]
    assert (raised.value.code, raised.value.data) == ("engine_unavailable", {"lost": lost})


def test_a_node_that_comes_in_time_ends_the_wait_for_one(stage: Stage) -> None:
    for node in ("a", "b"):
        stage.muster.leave_out(node, "the node was lost")
    stage.after(0)
    stage.after(PLACEMENT_SECONDS)
    stage.muster.membership.admit("a")
    stage.after(1.0)
    stage.muster.leave_out("a", "the node was lost")
    assert [message["event"] for message in stage.after(PLACEMENT_SECONDS)] == []
    assert [message["event"] for message in stage.after(PLACEMENT_SECONDS)] == ["delayed"]


def test_a_task_that_no_node_begins_leaves_the_nodes_that_give_no_sign(stage: Stage) -> None:
    """With every slot busy."""
    stage.give(1)
    stage.tell("10.1", "a")
    stage.give(2)
    assert [message["event"] for message in stage.after(DELAYED_SECONDS + 1)] == ["delayed"]
    assert sorted(stage.session.pinged) == ["a", "b"]
    stage.session.pinged["a"]("a")
    stage.tell("10.1", "a")
    assert stage.after(STUCK_SECONDS - DELAYED_SECONDS - 1) == []
    stage.tell("10.1", "a")
    assert [message["event"] for message in stage.after(1.0)] == ["slots"]
    assert stage.muster.left_out == [("b", "it does not answer")]
    assert stage.session.canceled == ["20.1"]
    assert (stage.session.started[-1][0]["key"], stage.session.started[-1][1]) == ("20.2", ["b", "h"])
    stage.answer("20.1", WorkerCrashedError())  # What the cancel leaves of it costs nothing.
    stage.answer("20.2", stage.result("a", 2))
    assert stage.last["event"] == "result"


def test_a_task_whose_arrays_take_minutes_to_reach_its_node_is_sent_once(stage: Stage) -> None:
    """The node answers in the meantime, and begins the task once it has them."""

    def put_slowly() -> None:
        stage.now += 2 * STUCK_SECONDS

    stage.session.on_put = put_slowly
    stage.give()
    for _ in range(100):
        stage.after(STUCK_SECONDS / 10)
        for answer in stage.session.pinged.values():
            answer("here")
    stage.tell("10.1", "a")
    stage.answer("10.1", stage.result())
    assert stage.last["event"] == "result"
    assert (len(stage.session.started), stage.session.puts, stage.session.canceled) == (1, 2, [])


def test_a_task_waits_for_a_core_as_long_as_all_nodes_answer(stage: Stage) -> None:
    stage.give()
    for seconds in (DELAYED_SECONDS + 1, STUCK_SECONDS, STUCK_SECONDS):
        stage.after(seconds)
        for answer in stage.session.pinged.values():
            answer("here")
    assert (stage.muster.left_out, len(stage.session.started)) == ([], 1)


def test_a_task_that_waits_may_go_to_a_node_that_answers_again(stage: Stage) -> None:
    for node in ("a", "b"):
        stage.muster.leave_out(node, "it does not answer")
    stage.give()
    assert stage.session.started[-1][1] == ["a", "b", "h"]
    stage.after(1.0)
    stage.muster.membership.admit("b")
    stage.after(1.0)
    assert stage.session.canceled == ["10.1"]
    assert stage.session.started[-1][1] == ["a", "h"]


def test_a_task_that_waits_gets_the_cores_of_the_largest_node_that_is_left(stage: Stage) -> None:
    stage.muster.resize("a", 4.0)
    stage.muster.resize("b", 2.0)
    stage.give(cpus=8)
    assert stage.session.cpus == 4.0
    stage.muster.resize("a", 0.0)
    stage.after(1.0)
    assert stage.session.canceled == ["10.1"]
    assert (stage.session.started[-1][0]["key"], stage.session.cpus) == ("10.2", 2.0)
    stage.answer("10.2", stage.result("b"))
    assert stage.last["event"] == "result"
