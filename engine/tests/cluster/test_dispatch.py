"""Slots and what time brings to them, on a fake cluster whose clock the test moves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from cluster_tasks import QUICK, fit_task

from mucast_engine.arrays import Message
from mucast_engine.cluster.dispatch import (
    KILL_SECONDS,
    LOST_ARRAYS,
    MEMORY_PAUSE_SECONDS,
    STUCK_SECONDS,
    VERDICT_SECONDS,
    Dispatch,
)
from mucast_engine.cluster.fault import ClusterError, ConnectionLostError
from mucast_engine.cluster.hearing import LOST_SECONDS, Hearing
from mucast_engine.cluster.muster import Muster
from mucast_engine.cluster.nodes import Membership, read_nodes
from mucast_engine.cluster.requests import read_task
from mucast_engine.cluster.runs import DELAYED_SECONDS, PLACEMENT_SECONDS, SILENT_SECONDS, Runs
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

    def run(self, request: Message, values: list[Any], cpus: float, gpus: float, avoid: list[str]) -> str:
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
        self.dispatch.start(worker)
        task = fit_task(self.folder, f"p{worker}", QUICK)
        header = {"op": "task", "worker": worker, "id": 10 * worker, **needs}
        self.dispatch.give(read_task(header, json.dumps(task).encode()))

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


def test_a_task_for_one_node_ends_when_that_is_there_no_more(stage: Stage) -> None:
    stage.give(1, node="10.0.0.1")
    assert stage.session.started[0][1] == ["b", "h"]
    assert stage.after(1.0) == []
    stage.muster.leave_out("a", "the node was lost")
    reason = "the node 10.0.0.1 takes no tasks any more"
    assert stage.after(1.0) == [{"event": "worker_exited", "worker": 1, "node": None, "reason": reason}]
    assert stage.session.canceled == ["10.1"]


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


def test_a_task_that_no_node_can_hold_is_told_and_in_the_end_given_up(stage: Stage) -> None:
    stage.give(gpus=1)
    assert stage.after(0) == []
    assert stage.after(DELAYED_SECONDS + 1)[0]["event"] == "delayed"
    assert stage.after(1.0) == []
    with pytest.raises(ClusterError, match="a core and 1 GPUs") as raised:
        stage.after(PLACEMENT_SECONDS)
    assert (raised.value.code, raised.value.data) == ("engine_unavailable", {"cpus": 1.0, "gpus": 1.0})


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


def test_a_second_attempt_that_is_lost_is_not_followed_by_a_third(stage: Stage) -> None:
    """What does not fit into the other node's memory would be killed there again and again."""
    stage.give(1)
    stage.tell("10.1", "a")
    stage.answer("10.1", stage.result())
    stage.give(2)
    stage.tell("20.1", "a")
    stage.after(11.0)
    stage.answer("20.2", WorkerCrashedError())
    for _ in range(10):
        stage.after(1.0)
    assert [request["key"] for request, _ in stage.session.started] == ["10.1", "20.1", "20.2"]


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


@pytest.mark.parametrize("where", ["answer", "told"])
def test_a_connection_that_is_lost_ends_the_gateway(stage: Stage, where: str) -> None:
    stage.give()
    with pytest.raises(ConnectionLostError):
        if where == "answer":
            stage.answer("10.1", ConnectionError("the head is gone"))
        else:
            stage.session.told(RuntimeError("the relay is gone"))
