"""What time says about tasks on a cluster, by a clock that the test moves."""

from typing import Any

import pytest

from mucast_engine.cluster.requests import TaskRequest
from mucast_engine.cluster.runs import SILENT_SECONDS, SLOW_FACTOR, SLOW_SECONDS, Run, Runs


def request(id: int = 1, **changes: Any) -> TaskRequest:
    given = TaskRequest(id, id, "fit_predict", b"{}", [], [], 1.0, 0.0, None)
    return given._replace(**changes)


def run_of(runs: Runs, id: int = 1, begun: float | None = 0.0, **changes: Any) -> Run:
    run = Run(request(id, **changes))
    runs.give(id, run)
    attempt = run.attempt(0.0)
    if begun is not None:
        attempt.hear("node a", begun)
    return run


def test_a_task_is_given_up_when_its_node_has_been_silent_too_long() -> None:
    runs = Runs()
    run = run_of(runs)
    [attempt] = run.attempts.values()
    assert runs.silent(SILENT_SECONDS) == []
    assert runs.silent(SILENT_SECONDS + 0.1) == [(run, attempt)]
    attempt.hear("node a", 60.0)
    assert runs.silent(SILENT_SECONDS + 0.1) == []


def test_a_task_that_waits_for_a_node_is_not_silent() -> None:
    runs = Runs()
    run_of(runs, begun=None)
    assert runs.silent(10_000.0) == []


def test_progress_is_told_once_whichever_attempt_tells_it_first() -> None:
    run = Run(request())
    updates: list[dict[str, Any]] = [{"fit": number} for number in range(5)]
    assert run.new_updates(0, updates[:2]) == updates[:2]
    assert run.new_updates(0, updates[:1]) == []
    assert run.new_updates(4, updates[4:]) == []  # What lies between comes with the result.
    assert run.new_updates(0, updates) == updates[2:]
    assert run.emitted == 5


def finished(runs: Runs, seconds: float, kind: str = "fit_predict") -> None:
    run = Run(request(99, kind=kind))
    run.attempt(0.0).hear("node b", 0.0)
    runs.note_done(run, seconds)


def test_the_slowest_task_is_started_a_second_time_when_a_slot_is_idle() -> None:
    runs = Runs()
    slow = run_of(runs, 1, begun=0.0)
    run_of(runs, 2, begun=30.0)
    finished(runs, seconds=20.0)
    at = SLOW_FACTOR * 20.0
    assert runs.slowest(at, idle=1) is None
    assert runs.slowest(at + 1, idle=0) is None
    assert runs.slowest(at + 1, idle=1) is slow
    slow.attempt(at + 1)
    assert runs.slowest(at + 1, idle=1) is None


def test_no_short_task_is_started_twice() -> None:
    runs = Runs()
    slow = run_of(runs)
    finished(runs, seconds=0.1)
    assert runs.slowest(SLOW_SECONDS, idle=1) is None
    assert runs.slowest(SLOW_SECONDS + 1, idle=1) is slow


@pytest.mark.parametrize("changes", [{"gpus": 1.0}, {"cpus": 4.0}, {"node": "a"}, {"kind": "train_joint"}])
def test_what_is_not_started_a_second_time(changes: dict[str, Any]) -> None:
    """On a GPU, on more cores than are idle, for one node alone, and if no task of the kind is done."""
    runs = Runs()
    run_of(runs, **changes)
    finished(runs, seconds=1.0)
    assert runs.slowest(10_000.0, idle=1) is None


def test_attempts_are_found_by_their_keys_until_they_are_over() -> None:
    runs = Runs()
    run = run_of(runs, 7)
    second = run.attempt(1.0)
    assert runs.of("7.2") == (7, run)
    assert runs.used() == 2
    del run.attempts[second.key]
    assert runs.of("7.2") is None
    assert runs.of("7.1") == (7, run)
    assert runs.of("anything") is None
    runs.free(7)
    assert (runs.of("7.1"), 7 in runs, runs[7]) == (None, True, None)
    runs.end(7)
    assert 7 not in runs
