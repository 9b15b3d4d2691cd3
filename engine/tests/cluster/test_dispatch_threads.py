"""Kills and first results while the sender is at work: a real loop and a real sender on a fake cluster with gates."""

import json
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from cluster_tasks import QUICK, fit_task
from stage import FakeMuster, FakeSession, result_of

from mucast_engine.arrays import Message
from mucast_engine.cluster.dispatch import Dispatch
from mucast_engine.cluster.gateway import Loop
from mucast_engine.cluster.muster import Muster
from mucast_engine.cluster.requests import read_task
from mucast_engine.cluster.session import Session

# Of a wait for another thread; each ends as soon as that has done its part.
BOUND_SECONDS = 60.0


class TaskCancelledError(Exception):
    """A fake of Ray's, which goes by its name."""


class Gate:
    """Holds up the threads that come by while it is shut."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self._reached = threading.Event()

    def shut(self) -> None:
        self._reached.clear()
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def reached(self) -> None:
        assert self._reached.wait(BOUND_SECONDS)

    def pass_through(self) -> None:
        self._reached.set()
        assert self._open.wait(BOUND_SECONDS)


class GatedSession(FakeSession):
    """Its cluster takes arrays and tasks when the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.at_put, self.at_run = Gate(), Gate()
        self.watched: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.polled = threading.Event()
        self.cancels: queue.SimpleQueue[str] = queue.SimpleQueue()

    def poll(self, seconds: float, done: Callable[[Any], None]) -> None:
        super().poll(seconds, done)
        self.polled.set()

    def put(self, array: Any) -> Any:
        self.at_put.pass_through()
        return super().put(array)

    def run(self, request: Message, values: list[Any], cpus: float, gpus: float, memory: int, avoid: list[str]) -> str:
        self.at_run.pass_through()
        return super().run(request, values, cpus, gpus, memory, avoid)

    def watch(self, task: str, done: Callable[[Any], None]) -> None:
        super().watch(task, done)
        self.watched.put(task)

    def cancel(self, task: str) -> None:
        self.cancels.put(task)


class ThreadedStage:
    """A dispatch on a real loop with a real sender. Time stands still but where the test moves it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now = folder, 0.0
        self.session, self.loop = GatedSession(), Loop()
        self.messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.dispatch = Dispatch(
            cast(Session, self.session),
            self.loop,
            cast(Muster, FakeMuster()),
            folder,
            self.messages.put,
            clock=lambda: self.now,
        )
        self._thread = threading.Thread(target=self.loop.run, args=(lambda: None,))
        self._thread.start()
        self.do(self.dispatch.begin)

    def do(self, act: Callable[[], None]) -> None:
        """On the loop, where it has ended on return, and all that was handed to the loop before."""
        done = threading.Event()
        self.loop.call(act)
        self.loop.call(done.set)
        assert done.wait(BOUND_SECONDS)

    def tick(self) -> None:
        """The relay has answered all the time."""

        def tick() -> None:
            self.dispatch.hearing.note_answer()
            self.dispatch.tick()

        self.do(tick)

    def give(self, worker: int) -> None:
        task = json.dumps(fit_task(self.folder, f"p{worker}", QUICK, seed=worker)).encode()
        request = read_task({"op": "task", "worker": worker, "id": 10 * worker}, task)
        self.do(lambda: self.dispatch.start(worker))
        assert self.message()["event"] == "worker_started"
        self.do(lambda: self.dispatch.give(request))

    def tell(self, key: str, node: str) -> None:
        assert self.session.polled.wait(BOUND_SECONDS)
        self.session.told([(key, node, 0, [])])
        self.do(lambda: None)

    def kill(self, worker: int) -> None:
        self.do(lambda: self.dispatch.kill(worker))

    def message(self) -> Message:
        return self.messages.get(timeout=BOUND_SECONDS)

    def close(self) -> None:
        self.session.at_put.open()
        self.session.at_run.open()
        self.loop.call(self.loop.stop)
        self._thread.join(BOUND_SECONDS)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ThreadedStage]:
    stage = ThreadedStage(tmp_path)
    yield stage
    stage.close()


def test_a_task_that_is_killed_while_its_arrays_are_put_never_starts(stage: ThreadedStage) -> None:
    stage.session.at_put.shut()
    stage.give(1)
    stage.session.at_put.reached()
    stage.kill(1)
    assert stage.message()["reason"] == "it was canceled"
    stage.session.at_put.open()
    stage.give(2)
    assert stage.session.watched.get(timeout=BOUND_SECONDS) == "20.1"


def test_a_kill_while_the_cluster_takes_the_task_is_answered_when_the_task_has_ended(stage: ThreadedStage) -> None:
    stage.session.at_run.shut()
    stage.give(1)
    stage.session.at_run.reached()
    stage.kill(1)
    assert stage.messages.empty()
    stage.session.at_run.open()
    assert stage.session.cancels.get(timeout=BOUND_SECONDS) == "10.1"
    assert stage.session.watched.get(timeout=BOUND_SECONDS) == "10.1"
    assert stage.messages.empty()
    stage.session.done["10.1"](TaskCancelledError())
    assert stage.message() == {"event": "worker_exited", "worker": 1, "node": None, "reason": "it was canceled"}


def test_a_second_attempt_that_starts_after_the_first_result_is_canceled(stage: ThreadedStage) -> None:
    stage.give(1)
    assert stage.session.watched.get(timeout=BOUND_SECONDS) == "10.1"
    stage.tell("10.1", "a")
    stage.session.done["10.1"](result_of(stage.folder, "a", 1))
    assert stage.message()["event"] == "result"
    stage.give(2)
    assert stage.session.watched.get(timeout=BOUND_SECONDS) == "20.1"
    stage.tell("20.1", "a")
    stage.session.at_run.shut()
    stage.now = 11.0
    stage.tick()
    stage.session.at_run.reached()
    stage.session.done["20.1"](result_of(stage.folder, "a", 2))
    assert stage.message()["event"] == "result"
    stage.session.at_run.open()
    assert stage.session.cancels.get(timeout=BOUND_SECONDS) == "20.2"


def test_a_cancel_is_repeated_until_the_end_of_the_task_is_told(stage: ThreadedStage) -> None:
    stage.give(1)
    assert stage.session.watched.get(timeout=BOUND_SECONDS) == "10.1"
    stage.kill(1)
    for seconds in (0.0, 1.0, 10.0, 20.0):
        stage.now += seconds
        stage.tick()
        assert stage.session.cancels.get(timeout=BOUND_SECONDS) == "10.1"
    assert stage.message()["reason"] == "it was canceled; its node does not answer"
    stage.session.done["10.1"](TaskCancelledError())
    stage.now += 100.0
    stage.tick()
    stage.give(2)
    assert stage.session.watched.get(timeout=BOUND_SECONDS) == "20.1"
    stage.kill(2)
    assert stage.session.cancels.get(timeout=BOUND_SECONDS) == "20.1"
