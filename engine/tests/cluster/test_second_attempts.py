"""Second attempts at slow tasks, on a fake cluster whose clock the test moves."""

from stage import Stage, WorkerCrashedError

from mucast_engine.arrays import Message


def second_attempt_begins(stage: Stage, *told: Message) -> None:
    """At the task in slot 2, on the node b: the first one, on the node a, has `told` that and takes too long."""
    stage.give(1)
    stage.tell("10.1", "a")
    stage.answer("10.1", stage.result())
    stage.give(2)
    stage.tell("20.1", "a", 0, *told)
    stage.after(11.0)


def test_a_second_attempt_that_is_lost_is_not_followed_by_a_third(stage: Stage) -> None:
    """What does not fit into the other node's memory would be killed there again and again."""
    second_attempt_begins(stage)
    stage.answer("20.2", WorkerCrashedError())
    for _ in range(10):
        stage.after(1.0)
    assert [request["key"] for request, _ in stage.session.started] == ["10.1", "20.1", "20.2"]


def test_the_first_of_two_attempts_counts_and_the_other_is_canceled(stage: Stage) -> None:
    second_attempt_begins(stage, {"fit": 0})
    assert stage.session.started[-1][0]["key"] == "20.2"
    assert stage.session.started[-1][1] == ["a", "h"]
    stage.tell("20.2", "b", 0, {"fit": 0}, {"fit": 1})
    stage.answer("20.2", stage.result("b", 2, [{"fit": 0}, {"fit": 1}]))
    assert [message["event"] for message in stage.messages] == ["progress", "result"]
    assert stage.session.canceled == ["20.1"]
    stage.answer("20.1", stage.result("a", 2))
    assert stage.last["event"] == "result"


def test_the_death_of_one_of_two_attempts_costs_nothing(stage: Stage) -> None:
    second_attempt_begins(stage)
    stage.answer("20.1", WorkerCrashedError())
    stage.answer("20.2", stage.result("b", 2))
    assert [message["event"] for message in stage.messages] == ["result"]
