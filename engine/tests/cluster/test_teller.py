"""When the supervisor of a task ends itself: by the time of a test, on a fake of the relay."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from mucast_engine.cluster import node
from mucast_engine.cluster.node import HEARTBEAT_SECONDS, SILENT_SECONDS, Teller


class EndedError(Exception):
    """In place of the end of the process."""


class Stage:
    """A relay that answers as long as it is reached."""

    def __init__(self) -> None:
        self.now, self.is_reached, self.is_lost, self.told = 0.0, True, False, 0
        self.tell = SimpleNamespace(remote=self._tell)

    def monotonic(self) -> float:
        return self.now

    def _tell(self, message: Any) -> SimpleNamespace:
        self.told += 1
        answer: Future[None] = Future()
        if self.is_lost:
            answer.set_exception(RuntimeError("the actor died"))
        elif self.is_reached:
            answer.set_result(None)
        return SimpleNamespace(future=lambda: answer)

    def exit(self, code: int) -> None:
        raise EndedError


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    fake = Stage()
    monkeypatch.setattr(node, "time", fake)
    monkeypatch.setattr(node.os, "_exit", fake.exit)
    return fake


def assert_ends_by_silence(teller: Teller, stage: Stage) -> None:
    for _ in range(int(SILENT_SECONDS)):
        stage.now += 1.0
        teller.beat()
    stage.now += 1.0
    with pytest.raises(EndedError):
        teller.beat()


def test_a_task_that_goes_on_says_so_every_few_seconds(stage: Stage) -> None:
    teller = Teller(stage, "1.1", "a")
    for _ in range(1000):
        stage.now += 0.25
        teller.beat()
    assert stage.told == 1 + int(250 / HEARTBEAT_SECONDS)


def test_a_task_ends_itself_after_a_freeze_or_where_nothing_takes_what_it_tells(stage: Stage) -> None:
    """By the time that the gateway has it tried elsewhere."""
    frozen = Teller(stage, "1.1", "a")
    stage.now += SILENT_SECONDS
    frozen.beat()
    stage.now += SILENT_SECONDS + 0.1
    with pytest.raises(EndedError):
        frozen.beat()
    stage.is_reached = False
    alone = Teller(stage, "1.2", "a")
    assert_ends_by_silence(alone, stage)


def test_the_answer_of_a_relay_that_is_lost_is_none(stage: Stage) -> None:
    stage.is_lost = True
    teller = Teller(stage, "1.1", "a")
    teller.deliver()
    assert_ends_by_silence(teller, stage)
