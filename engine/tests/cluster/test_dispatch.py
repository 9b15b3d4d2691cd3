"""What the dispatch makes of answers that no sound cluster gives, on a fake session."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from cluster_tasks import QUICK, fit_task

from mucast_engine.arrays import Message
from mucast_engine.cluster import inspection
from mucast_engine.cluster.dispatch import MAX_STARTS, OVER_MEMORY, Dispatch
from mucast_engine.cluster.inspection import Inspector
from mucast_engine.cluster.requests import read_task
from mucast_engine.cluster.session import Session

GREETING: dict[str, Any] = {
    "versions": {},
    "threads": {},
    "kernel_level": None,
    "machine": {"processor": "one", "numpy_dispatch": []},
    "engine": "e",
}
ROWS = [
    {"NodeID": id, "Alive": True, "NodeManagerAddress": f"10.0.0.{number}", "Resources": resources}
    for number, (id, resources) in enumerate(
        [("h", {"node:__internal_head__": 1.0}), ("a", {"CPU": 1.0}), ("b", {"CPU": 1.0})]
    )
]


class RayTaskError(Exception):
    """A fake of Ray's, which is known by its name."""

    cause: Exception | None = None


class EngineDiedError(Exception):
    """That of the node's module, which goes by its name too."""


class FakeSession:
    """Keeps what was asked of it; the test answers in its stead."""

    def __init__(self) -> None:
        self.started: list[Message] = []
        self.options: list[dict[str, Any]] = []
        self.done: dict[str, Callable[[Any], None]] = {}
        self.canceled: list[str] = []

    def put(self, array: Any) -> Any:
        return array

    def run(self, request: Message, values: list[Any], options: dict[str, Any], node: str | None) -> str:
        self.started.append(request)
        self.options.append(options)
        return str(request["key"])

    def watch(self, task: str, done: Callable[[Any], None]) -> None:
        self.done[task] = done

    def cancel(self, task: str) -> None:
        self.canceled.append(task)


class AtOnce:
    """A loop, and a thread, that runs what it gets at once."""

    def __init__(self, *_: Any) -> None:
        pass

    def call(self, act: Callable[[], None]) -> None:
        act()

    def submit(self, act: Callable[..., None], *given: Any) -> None:
        act(*given)


class Stage:
    """A dispatch on two nodes of one core, with a task in slot 1."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(inspection.threading, "Thread", lambda **_: SilentThread())
        monkeypatch.setattr("mucast_engine.cluster.sender.ThreadPoolExecutor", AtOnce)
        self.session, self.messages, self.folder = FakeSession(), list[Message](), folder
        session = cast(Session, self.session)
        inspector = Inspector(session, AtOnce(), {"libraries": [], "variables": {}}, {}, "e")
        inspector.update(ROWS)
        inspector._require_agreement({"a": {"greeting": GREETING}, "b": {"greeting": GREETING}})
        for id in ("a", "b"):
            inspector.nodes.admit(id)
        self.dispatch = Dispatch(session, AtOnce(), inspector, folder, self.messages.append)
        self.dispatch.begin()
        self.dispatch.start(1)
        self.give()

    def give(self) -> None:
        task = fit_task(self.folder, "p", QUICK)
        self.ref = task["predictions"]["ref"]
        self.dispatch.give(read_task({"op": "task", "worker": 1, "id": 10}, json.dumps(task).encode()))

    def result(self, node: str = "a") -> Message:
        predictions = {"ref": self.ref, "dtype": "<f8", "shape": [3], "order": "C"}
        message = {"event": "result", "result": {"predictions": predictions}}
        return {"node": node, "message": message, "arrays": [[self.ref, np.arange(3.0).tobytes()]], "updates": []}

    @property
    def last(self) -> Message:
        return self.messages[-1]


class SilentThread:
    """Is never run."""

    def start(self) -> None:
        pass


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_an_answer_that_is_no_result_costs_one_attempt(stage: Stage) -> None:
    stage.session.done["10.1"](["anything"])
    reason = "its node answered with something else than a result"
    assert stage.last == {"event": "worker_exited", "worker": 1, "node": None, "reason": reason, "attempts": 1}


def test_an_exception_comes_after_rays_own_retry(stage: Stage) -> None:
    stage.dispatch._on_told([("10.1", "b", 0, [])])
    error = RayTaskError("a traceback")
    error.cause = EngineDiedError("its process was ended by SIGKILL")
    stage.session.done["10.1"](error)
    assert (stage.last["node"], stage.last["reason"]) == ("10.0.0.2", "its process was ended by SIGKILL")
    assert stage.last["attempts"] == MAX_STARTS


def test_a_node_that_differs_gets_no_more_tasks_and_another_one_gets_this_one(stage: Stage) -> None:
    stage.session.done["10.1"]({"node": "a", "greeting": {**GREETING, "engine": "other"}})
    [lost] = stage.last["lost"]
    assert (stage.last["slots"], lost["name"]) == (1, "10.0.0.1")
    assert stage.session.options[-1]["label_selector"] == {"ray.io/node-id": "!in(a)"}
    stage.session.done["10.2"](stage.result("b"))
    assert stage.last["event"] == "result"


def test_a_task_that_ray_starts_again_and_again_is_given_up(stage: Stage) -> None:
    for _ in range(MAX_STARTS + 1):
        stage.dispatch._on_told([("10.1", "a", 0, [])])
    assert (stage.last["reason"], stage.last["attempts"]) == (OVER_MEMORY, MAX_STARTS)
    assert stage.session.canceled == ["10.1"]
    stage.session.done["10.1"](stage.result())
    assert stage.last["event"] == "worker_exited"


def test_progress_of_a_second_attempt_is_told_once(stage: Stage) -> None:
    stage.dispatch._on_told([("10.1", "a", 0, []), ("10.1", "a", 0, [{"fit": 0}]), ("10.1", "b", 0, [])])
    stage.dispatch._on_told([("10.1", "b", 0, [{"fit": 0}, {"fit": 1}]), ("10.1", "b", 9, [{"fit": 9}])])
    assert [one["fit"] for one in stage.messages if one["event"] == "progress"] == [0, 1]


def test_a_canceled_task_ends_with_its_answer(stage: Stage) -> None:
    stage.dispatch.kill(1)
    assert stage.session.canceled == ["10.1"]
    stage.session.done["10.1"](stage.result())
    assert (stage.last["event"], stage.last["reason"]) == ("worker_exited", "it was canceled")


def test_a_task_that_is_canceled_while_its_arrays_are_sent_never_starts(stage: Stage) -> None:
    stage.session.done["10.1"](stage.result())
    put = stage.session.put
    stage.session.put = lambda array: (stage.dispatch.kill(1), put(array))[1]  # type: ignore[method-assign]
    for path in stage.folder.glob("x*.npy"):
        path.touch()
    stage.give()
    assert (stage.last["event"], stage.last["reason"]) == ("worker_exited", "it was canceled")
    assert len(stage.session.started) == 1
