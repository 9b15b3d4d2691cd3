"""A dispatch on a fake cluster whose clock the test moves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from cluster_tasks import QUICK, fit_task

from mucast_engine.arrays import Message
from mucast_engine.cluster.dispatch import Dispatch
from mucast_engine.cluster.hearing import Hearing
from mucast_engine.cluster.muster import Muster
from mucast_engine.cluster.nodes import Membership, read_nodes
from mucast_engine.cluster.requests import read_task
from mucast_engine.cluster.sender import Sender
from mucast_engine.cluster.session import Session

GREETING: dict[str, Any] = {
    "versions": {},
    "threads": {},
    "kernel_level": None,
    "machine": {"processor": "one", "numpy_dispatch": []},
    "engine": "e",
}
HEAD = {"node:__internal_head__": 1.0, "object_store_memory": 1e9}


class WorkerCrashedError(Exception):
    """A fake of Ray's, which goes by its name."""


class ObjectLostError(Exception):
    """Another."""


class ObjectFreedError(ObjectLostError):
    """Another."""


class OutOfMemoryError(Exception):
    """Another."""


class RayTaskError(Exception):
    """Another."""


class ConnectionOfTaskError(RayTaskError, ConnectionError):
    """Another, as Ray makes it of a ConnectionError that a task has raised."""


class FakeSession:
    """Keeps what was asked of it; the test answers in its stead."""

    def __init__(self) -> None:
        self.started: list[tuple[Message, list[str]]] = []
        self.done: dict[str, Callable[[Any], None]] = {}
        self.canceled: list[str] = []
        self.puts = 0
        self.on_put: Callable[[], None] = lambda: None
        self.told: Callable[[Any], None] = lambda told: None
        self.reached: list[Callable[[Any], None]] = []
        self.pinged: dict[str, Callable[[Any], None]] = {}

    def poll(self, seconds: float, done: Callable[[Any], None]) -> None:
        self.told = done

    def put(self, array: Any) -> Any:
        self.puts += 1
        self.on_put()
        return array

    def run(self, request: Message, values: list[Any], cpus: float, gpus: float, memory: int, avoid: list[str]) -> str:
        self.started.append((request, avoid))
        self.cpus = cpus
        return str(request["key"])

    def watch(self, task: str, done: Callable[[Any], None]) -> None:
        self.done[task] = done

    def cancel(self, task: str) -> None:
        self.canceled.append(task)

    def reach(self, places: dict[str, tuple[str, int]], done: Callable[[Any], None]) -> None:
        self.reached.append(lambda takes: done(dict.fromkeys(places, takes)))

    def ping(self, node: str, done: Callable[[Any], None]) -> None:
        self.pinged[node] = done


class FakeMuster:
    """Two nodes of one core that agree."""

    def __init__(self) -> None:
        self.membership = Membership()
        self.shared, self.spec, self.head = GREETING, {"libraries": [], "variables": {}}, "h"
        self.left_out: list[tuple[str, str]] = []
        resources = {"h": HEAD, "a": {"CPU": 1.0}, "b": {"CPU": 1.0}}
        rows = [
            {"NodeID": id, "Alive": True, "NodeManagerAddress": f"10.0.0.{n}", "NodeManagerPort": 1, "Resources": has}
            for n, (id, has) in enumerate(resources.items())
        ]
        self.membership.update(read_nodes(rows))
        for id in ("a", "b"):
            self.membership.admit(id)

    def watch(
        self, on_change: Callable[[list[str], list[Message]], None], on_look: Callable[[list[str]], None]
    ) -> None:
        self._on_change, self.on_look = on_change, on_look

    def resize(self, id: str, cpus: float) -> None:
        """Gives a node other cores; takes it away with none."""
        nodes = {**self.membership.nodes, id: self.membership.nodes[id]._replace(cpus=cpus)}
        self.membership.update({id: node for id, node in nodes.items() if node.cpus or node.is_head})

    def tick(self) -> None:
        pass

    def note_contact(self) -> None:
        pass

    def leave_out(self, id: str, why: str) -> None:
        self.left_out.append((id, why))
        self.membership.leave_out(id, why)
        self._on_change([], [{"name": self.membership.name_of(id), "reason": why}])

    def lose(self, id: str, why: str) -> None:
        self.leave_out(id, why)
        self.on_look([id])

    def refuse(self, id: str, greeting: Message) -> None:
        self.leave_out(id, "it differs")


class AtOnce:
    """A loop, and a thread, that does what it is given at once."""

    def call(self, act: Callable[[], None]) -> None:
        act()

    def submit(self, act: Callable[[], None]) -> None:
        act()


def result_of(folder: Path, node: str, worker: int) -> Message:
    """What `node` answers to the task of a slot."""
    ref = str(folder / f"p{worker}.npy")
    predictions = {"ref": ref, "dtype": "<f8", "shape": [3], "order": "C"}
    message = {"event": "result", "result": {"predictions": predictions}}
    return {"node": node, "message": message, "arrays": [[ref, np.arange(3.0).tobytes()]], "updates": []}


class Stage:
    """A dispatch on the fake cluster, with a task in slot 1."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Sender, "_threads", staticmethod(lambda count: AtOnce()))
        self.folder, self.now = folder, 0.0
        self.session, self.muster = FakeSession(), FakeMuster()
        self.messages: list[Message] = []
        self.dispatch = Dispatch(
            cast(Session, self.session),
            AtOnce(),
            cast(Muster, self.muster),
            folder,
            self.messages.append,
            clock=lambda: self.now,
        )
        self.dispatch.begin()

    def give(self, worker: int = 1, **needs: float | str) -> None:
        self.task = json.dumps(fit_task(self.folder, f"p{worker}", QUICK)).encode()
        self.give_again(worker, **needs)

    def give_again(self, worker: int = 1, **needs: float | str) -> None:
        """The task before, on the same files."""
        self.dispatch.start(worker)
        header = {"op": "task", "worker": worker, "id": 10 * worker, **needs}
        self.dispatch.give(read_task(header, self.task))

    def tell(self, key: str, node: str, first: int = 0, *updates: Message) -> None:
        self.session.told([(key, node, first, list(updates))])

    def answer(self, key: str, answer: Any) -> None:
        self.session.done[key](answer)

    def result(self, node: str = "a", worker: int = 1, updates: list[Message] | None = None) -> Message:
        return {**result_of(self.folder, node, worker), "updates": updates or []}

    def after(self, seconds: float, *, hears: bool = True) -> list[Message]:
        """What a tick then tells; the relay has answered all the time, unless the dispatch `hears` nothing."""
        self.now += seconds
        if hears:
            self.dispatch.hearing = Hearing(lambda: self.now)
        self.messages.clear()
        self.dispatch.tick()
        return self.messages

    @property
    def sender(self) -> Sender:
        assert self.dispatch._sender is not None
        return self.dispatch._sender

    @property
    def last(self) -> Message:
        return self.messages[-1]
