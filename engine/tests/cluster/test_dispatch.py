"""Slots and what time brings to them, on a fake cluster whose clock the test moves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from cluster_tasks import QUICK, fit_task

from mucast_engine.arrays import Message
from mucast_engine.cluster.dispatch import KILL_SECONDS, VERDICT_SECONDS, Dispatch
from mucast_engine.cluster.fault import ClusterError, ConnectionLostError
from mucast_engine.cluster.muster import Muster
from mucast_engine.cluster.nodes import Membership, read_nodes
from mucast_engine.cluster.requests import read_task
from mucast_engine.cluster.runs import DELAYED_SECONDS, PLACEMENT_SECONDS, SILENT_SECONDS
from mucast_engine.cluster.sender import Sender
from mucast_engine.cluster.session import Session

GREETING: dict[str, Any] = {
    "versions": {},
    "threads": {},
    "kernel_level": None,
    "machine": {"processor": "one"},
    "engine": "e",
}
HEAD = {"node:__internal_head__": 1.0, "object_store_memory": 1e9}


class WorkerCrashedError(Exception):
    """A fake of Ray's, which goes by its name."""


class FakeSession:
    """Keeps what was asked of it; the test answers in its stead."""

    def __init__(self) -> None:
        self.started: list[tuple[Message, list[str]]] = []
        self.done: dict[str, Callable[[Any], None]] = {}
        self.canceled: list[str] = []
        self.told: Callable[[Any], None] = lambda told: None
        self.reached: list[Callable[[Any], None]] = []

    def poll(self, seconds: float, done: Callable[[Any], None]) -> None:
        self.told = done

    def put(self, array: Any) -> Any:
        return array

    def run(self, request: Message, values: list[Any], cpus: float, gpus: float, avoid: list[str]) -> str:
        self.started.append((request, avoid))
        return str(request["key"])

    def watch(self, task: str, done: Callable[[Any], None]) -> None:
        self.done[task] = done

    def cancel(self, task: str) -> None:
        self.canceled.append(task)

    def reaches(self, address: str, port: int, done: Callable[[Any], None]) -> None:
        self.reached.append(done)


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

    def watch(self, on_change: object, on_look: object) -> None:
        pass

    def tick(self) -> None:
        pass

    def note_contact(self) -> None:
        pass

    def leave_out(self, id: str, why: str) -> None:
        self.left_out.append((id, why))
        self.membership.leave_out(id, why)

    def refuse(self, id: str, greeting: Message) -> None:
        self.leave_out(id, "it differs")


class AtOnce:
    """A loop, and a thread, that does what it is given at once."""

    def call(self, act: Callable[[], None]) -> None:
        act()

    def submit(self, act: Callable[[], None]) -> None:
        act()


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

    def give(self, worker: int = 1, **needs: float) -> None:
        self.dispatch.start(worker)
        task = fit_task(self.folder, f"p{worker}", QUICK)
        header = {"op": "task", "worker": worker, "id": 10 * worker, **needs}
        self.dispatch.give(read_task(header, json.dumps(task).encode()))

    def tell(self, key: str, node: str, first: int = 0, *updates: Message) -> None:
        self.session.told([(key, node, first, list(updates))])

    def answer(self, key: str, answer: Any) -> None:
        self.session.done[key](answer)

    def result(self, node: str = "a", worker: int = 1, updates: list[Message] | None = None) -> Message:
        ref = str(self.folder / f"p{worker}.npy")
        message = {"event": "result", "result": {"predictions": {"ref": ref}}}
        return {"node": node, "message": message, "arrays": [[ref, np.arange(3.0).tobytes()]], "updates": updates or []}

    def after(self, seconds: float) -> list[Message]:
        """What a tick then tells."""
        self.now += seconds
        self.messages.clear()
        self.dispatch.tick()
        return self.messages

    @property
    def last(self) -> Message:
        return self.messages[-1]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


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


def test_a_node_that_is_silent_loses_its_task_and_gets_no_other(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a")
    assert stage.after(SILENT_SECONDS) == []
    assert stage.after(1.0) == [
        {"event": "worker_exited", "worker": 1, "node": "10.0.0.1", "reason": "its node did not answer for 75 s"}
    ]
    assert stage.session.canceled == ["10.1"]
    stage.give(2)
    assert stage.session.started[-1][1] == ["a", "h"]
    stage.answer("10.1", stage.result())  # Too late: the pool has it tried elsewhere.
    assert stage.last["event"] == "worker_started"


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


def test_a_process_that_died_before_the_gateway_heard_of_its_node(stage: Stage) -> None:
    stage.give()
    stage.answer("10.1", WorkerCrashedError())
    assert stage.session.reached == []
    stage.tell("10.1", "b")
    stage.session.reached[0](False)
    assert stage.last["reason"] == "the node 10.0.0.2 was lost"


def test_a_head_that_cannot_say_whether_a_node_lives_does_not_keep_the_task(stage: Stage) -> None:
    stage.give()
    stage.tell("10.1", "a")
    stage.answer("10.1", WorkerCrashedError())
    assert stage.after(VERDICT_SECONDS) == []
    assert stage.after(0.1)[0]["reason"] == "its process was killed"


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
    assert [message["event"] for message in stage.messages] == ["worker_started", "result"]


@pytest.mark.parametrize(
    "answer", [None, {}, [], "result", {"node": "a", "message": None, "arrays": [], "updates": []}]
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
    assert (stage.last["event"], stage.last["code"]) == ("error", "internal")
    assert not elsewhere.exists()


def test_a_task_that_no_node_can_hold_is_told_and_in_the_end_given_up(stage: Stage) -> None:
    stage.give(gpus=1)
    assert stage.after(0) == []
    assert stage.after(DELAYED_SECONDS + 1)[0]["event"] == "delayed"
    assert stage.after(1.0) == []
    with pytest.raises(ClusterError, match="1 cores and 1 GPUs") as raised:
        stage.after(PLACEMENT_SECONDS)
    assert (raised.value.code, raised.value.data) == ("engine_unavailable", {"cpus": 1.0, "gpus": 1.0})


def test_the_first_of_two_attempts_counts_and_the_other_is_canceled(stage: Stage) -> None:
    stage.give(1)
    stage.tell("10.1", "a")
    stage.answer("10.1", stage.result())
    stage.give(2)
    stage.tell("20.1", "a", 0, {"fit": 0})
    stage.after(11.0)
    assert stage.session.started[-1][0]["key"] == "20.2"
    assert stage.session.started[-1][1] == ["a", "h"]
    stage.tell("20.2", "b", 0, {"fit": 0}, {"fit": 1})
    stage.answer("20.2", stage.result("b", 2, [{"fit": 0}, {"fit": 1}]))
    assert [message["event"] for message in stage.messages] == ["progress", "result"]
    assert stage.session.canceled == ["20.1"]
    stage.answer("20.1", stage.result("a", 2))
    assert stage.last["event"] == "result"


def test_the_death_of_one_of_two_attempts_costs_nothing(stage: Stage) -> None:
    stage.give(1)
    stage.tell("10.1", "a")
    stage.answer("10.1", stage.result())
    stage.give(2)
    stage.tell("20.1", "a")
    stage.after(11.0)
    stage.answer("20.1", WorkerCrashedError())
    stage.answer("20.2", stage.result("b", 2))
    assert [message["event"] for message in stage.messages] == ["result"]


@pytest.mark.parametrize("where", ["answer", "told"])
def test_a_connection_that_is_lost_ends_the_gateway(stage: Stage, where: str) -> None:
    stage.give()
    with pytest.raises(ConnectionLostError):
        if where == "answer":
            stage.answer("10.1", ConnectionError("the head is gone"))
        else:
            stage.session.told(RuntimeError("the relay is gone"))
