"""What the gateway makes of the nodes that the head reaches or does not; the nodes are rows as Ray's are."""

import queue
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import pytest
from test_answers import GREETING

from mucast_engine.arrays import Message
from mucast_engine.cluster import muster
from mucast_engine.cluster.fault import ClusterError
from mucast_engine.cluster.muster import AGAIN_SECONDS, MAX_DOUBLINGS, NO_ANSWER, NODE_LOST, UNREACHED_SECONDS, Muster
from mucast_engine.cluster.node import START_SECONDS, fingerprint
from mucast_engine.cluster.nodes import NAMES_KEPT, read_nodes
from mucast_engine.cluster.patience import FIRST_ANSWER_SECONDS, OTHER_ANSWERS_SECONDS
from mucast_engine.cluster.session import Session


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, Callable[[], None]]] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        due = [act for at, act in self._due if at <= self.now]
        self._due = [(at, act) for at, act in self._due if at > self.now]
        for act in due:
            act()

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Acts during a sleep."""
        self._due.append((self.now + seconds, act))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(muster, "time", fake)
    monkeypatch.setattr(muster, "threading", SimpleNamespace(Thread=ThreadAtOnce))
    return fake


def rows(*ids: str) -> list[Message]:
    return [
        {"NodeID": id, "Alive": True, "NodeManagerAddress": id, "NodeManagerPort": 1, "Resources": {"CPU": 1.0}}
        for id in ids
    ]


class FakeSession:
    """Keeps whom it was to inspect; the test answers."""

    def __init__(self) -> None:
        self.inspected: list[tuple[str, Callable[[Any], None]]] = []

    def inspect(self, node: str, spec: Message, done: Callable[[Any], None]) -> None:
        self.inspected.append((node, done))


class ThreadAtOnce:
    """A thread that does at its start what it is to do."""

    def __init__(self, target: Callable[[], None], daemon: bool) -> None:
        self.start = target


class AtOnce:
    def call(self, act: Callable[[], None]) -> None:
        act()


class Told:
    """A muster of two nodes that watches nothing by itself, and what it tells."""

    def __init__(self) -> None:
        self.session = FakeSession()
        self.muster = Muster(cast(Session, self.session), AtOnce(), {}, {}, "")
        self.muster.shared = GREETING
        self.muster.membership.update(read_nodes(rows("a", "b")))
        for id in ("a", "b"):
            self.muster.membership.admit(id)
        self.lost: list[Message] = []
        self.added: list[str] = []
        self.gone: list[str] = []
        self.muster.tell(self._change, self.gone.extend)

    def _change(self, added: list[str], lost: list[Message]) -> None:
        self.added += added
        self.lost += lost

    def answer(self, answer: Any) -> None:
        """To the one inspection that is under way."""
        [(id, done)] = self.session.inspected
        assert id == "late"
        self.session.inspected.clear()
        done(answer)


def test_a_node_that_refuses_connections_is_lost_at_once(clock: Clock) -> None:
    told = Told()
    told.muster.note_reached({"a": True, "b": False})
    told.muster.note_reached({"a": True, "b": False})
    assert told.lost == [{"name": "b", "reason": NODE_LOST}]
    assert told.gone == ["b"]
    assert told.muster.membership.slots == 1


def test_a_node_that_nothing_answers_for_is_lost_after_a_while(clock: Clock) -> None:
    told = Told()
    for at, takes in [(0.0, None), (UNREACHED_SECONDS, None), (16.0, True), (17.0, None), (31.0, None)]:
        clock.now = at
        told.muster.note_reached({"a": takes})
    assert told.lost == []
    clock.now += 2.0
    told.muster.note_reached({"a": None})
    assert told.lost == [{"name": "a", "reason": NO_ANSWER}]
    assert told.gone == ["a"]


def test_a_relay_that_cannot_say_loses_no_node(clock: Clock) -> None:
    told = Told()
    told.muster.note_reached(RuntimeError("the relay is gone"))
    assert told.muster.membership.slots == 2


def test_a_late_node_whose_engine_does_not_start_is_told_once_and_asked_ever_more_rarely(clock: Clock) -> None:
    told = Told()
    fault = {"node": "late", "fault": "No module named 'mucast_engine'"}
    told.muster.take(rows("a", "b", "late"))
    told.answer(fault)
    why = "the engine does not start on it: No module named 'mucast_engine'"
    assert told.lost == [{"name": "late", "reason": why}]
    asked = 0
    for _ in range(1000):
        clock.now += AGAIN_SECONDS + 1
        told.muster.take(rows("a", "b", "late"))
        while told.session.inspected:
            told.answer(fault)
            asked += 1
    assert asked == pytest.approx(1000 / 2**MAX_DOUBLINGS, rel=0.2)
    assert len(told.lost) == 1
    told.muster.take(rows("a", "b"))
    told.muster.take(rows("a", "b", "late"))
    told.answer({"node": "late", "greeting": GREETING})
    assert told.added == ["late"]


def test_a_late_node_that_takes_long_to_answer_is_not_asked_again_meanwhile(clock: Clock) -> None:
    told = Told()
    for _ in range(3):
        told.muster.take(rows("a", "b", "late"))
        clock.now += 10 * AGAIN_SECONDS
    told.answer({"node": "late", "greeting": GREETING})
    assert told.added == ["late"]
    told.muster.leave_out("late", NO_ANSWER)
    clock.now += 2 * AGAIN_SECONDS
    told.muster.take(rows("a", "b", "late"))
    told.answer({"node": "late", "greeting": GREETING})
    assert told.added == ["late", "late"]


def test_a_late_node_that_cannot_be_asked_is_asked_again(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    with monkeypatch.context() as patch:
        patch.setattr(told.session, "inspect", mock.Mock(side_effect=RuntimeError("no such node")))
        told.muster.take(rows("a", "b", "late"))
    assert told.lost == [{"name": "late", "reason": "the engine does not start on it: no such node"}]
    clock.now += 3 * AGAIN_SECONDS
    told.muster.take(rows("a", "b", "late"))
    told.answer({"node": "late", "greeting": GREETING})
    assert told.added == ["late"]


@pytest.mark.parametrize("answer", [None, {"node": "late", "greeting": {"versions": 5}}, RuntimeError("it is gone")])
def test_a_late_node_that_answers_anything_else_gets_no_task(clock: Clock, answer: Any) -> None:
    told = Told()
    told.muster.take(rows("a", "b", "late"))
    told.answer(answer)
    assert [lost["name"] for lost in told.lost] == ["late"]
    assert told.muster.membership.slots == 2


def test_nothing_is_kept_of_nodes_that_come_and_go_but_the_names_of_the_last(clock: Clock) -> None:
    told = Told()
    for number in range(2 * NAMES_KEPT):
        told.session.inspected.clear()
        told.muster.take(rows("a", "b", f"n{number}"))
        told.muster.note_reached({f"n{number}": None})
    told.muster.take(rows("a", "b"))
    assert told.muster.membership.name_of(f"n{2 * NAMES_KEPT - 1}") == f"n{2 * NAMES_KEPT - 1}"
    assert told.muster.membership.name_of("n0") == "node n0"


OTHER = {**GREETING, "versions": {**GREETING["versions"], "numpy": "0.9"}}
FAULT = {"node": "c", "fault": "No module named 'mucast_engine'"}


class FakeQueue:
    """Where a thread would wait, the clock goes on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: list[Any] = []

    def put(self, entry: Any) -> None:
        self._kept.append(entry)

    def get(self, timeout: float) -> Any:
        if self._kept:
            return self._kept.pop(0)
        self._clock.sleep(timeout)
        raise queue.Empty


class StartingSession:
    """A cluster whose nodes come one look after the other; the test says what each answers to an inspection."""

    def __init__(self, looks: list[list[str]], answers: dict[str, Any]) -> None:
        self._looks, self._answers = looks, answers

    def nodes(self) -> list[Message]:
        return rows(*(self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]))

    def demand(self) -> object:
        return object()

    def start_relay(self, head: str) -> None:
        pass

    def reach(self, places: dict[str, Any], done: Callable[[Any], None]) -> None:
        done(dict.fromkeys(places, True))

    def inspect(self, node: str, spec: Message, done: Callable[[Any], None]) -> None:
        if node in self._answers:
            done(self._answers[node])


class SlowSession(StartingSession):
    """A cluster whose nodes take seconds to answer."""

    def __init__(self, clock: Clock, seconds: dict[str, float]) -> None:
        super().__init__([[*seconds]], {})
        self._clock, self._seconds = clock, seconds

    def inspect(self, node: str, spec: Message, done: Callable[[Any], None]) -> None:
        self._clock.after(self._seconds[node], lambda: done({"node": node, "greeting": GREETING}))


@pytest.fixture
def queues(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(muster, "queue", SimpleNamespace(SimpleQueue=lambda: FakeQueue(clock), Empty=queue.Empty))


def gathered(clock: Clock, looks: list[list[str]], answers: dict[str, Any], expected: str | None) -> Told:
    told = Told()
    session = cast(Session, StartingSession(looks, answers))
    told.muster = Muster(session, AtOnce(), {}, GREETING["versions"], GREETING["engine"], expected)
    told.muster.gather(lambda words: None)
    with mock.patch.object(Muster, "_look_for_ever"):
        told.muster.watch(told._change, told.gone.extend)
    return told


@pytest.mark.usefixtures("queues")
def test_a_job_that_comes_back_leaves_out_by_name_what_is_not_as_its_nodes_were(clock: Clock) -> None:
    answers = {"a": {"node": "a", "greeting": GREETING}, "b": {"node": "b", "greeting": OTHER}, "c": FAULT}
    told = gathered(clock, [["a", "b", "c", "silent"]], answers, fingerprint(GREETING))
    assert [node.name for node in told.muster.membership.members] == ["a"]
    reasons = {lost["name"]: lost["reason"] for lost in told.lost}
    assert reasons["b"].startswith("it would not give the same bytes: b has numpy 0.9")
    assert reasons["c"] == "the engine does not start on it: No module named 'mucast_engine'"
    assert reasons["silent"] == NO_ANSWER


@pytest.mark.usefixtures("queues")
def test_a_job_that_comes_back_waits_for_a_head_without_cores_and_for_its_own_nodes(clock: Clock) -> None:
    answers = {"a": {"node": "a", "greeting": GREETING}, "b": {"node": "b", "greeting": OTHER}}
    told = gathered(clock, [[], [], ["b"], ["b"], ["b"], ["a", "b"]], answers, fingerprint(GREETING))
    assert [node.name for node in told.muster.membership.members] == ["a"]
    with pytest.raises(
        ClusterError, match="no node is as those were that the job began on: b: it is not as the nodes were"
    ):
        gathered(clock, [["b"]], answers, fingerprint(GREETING))


@pytest.mark.usefixtures("queues")
def test_a_job_that_begins_refuses_nodes_that_differ_and_goes_on_without_one_that_is_silent(
    clock: Clock,
) -> None:
    answers: dict[str, Any] = {"a": {"node": "a", "greeting": GREETING}}
    told = gathered(clock, [["a", "silent"]], answers, None)
    assert [node.name for node in told.muster.membership.members] == ["a"]
    assert told.lost == [{"name": "silent", "reason": NO_ANSWER}]
    for other in ({"node": "b", "greeting": OTHER}, FAULT):
        with pytest.raises(ClusterError):
            gathered(clock, [["a", "b"]], {**answers, "b": other}, None)


@pytest.mark.usefixtures("queues")
def test_a_job_waits_for_a_busy_cluster_and_not_for_one_node_that_is_much_slower(clock: Clock) -> None:
    first = START_SECONDS / 2
    session = SlowSession(clock, {"a": first + OTHER_ANSWERS_SECONDS - 1, "b": first, "late": first + 500})
    said: list[str] = []
    started = Muster(cast(Session, session), AtOnce(), {}, GREETING["versions"], GREETING["engine"])
    started.gather(said.append)
    assert [node.id for node in started.membership.members] == ["a", "b"]
    assert started.membership.left_out == {"late": NO_ANSWER}
    assert clock.now == pytest.approx(first + OTHER_ANSWERS_SECONDS, abs=2)
    [words] = said
    assert words.startswith("the engine is still starting on a, b, late; ")


@pytest.mark.usefixtures("queues")
def test_a_job_that_no_node_answers_ends(clock: Clock) -> None:
    with pytest.raises(ClusterError, match=f"no answer within {FIRST_ANSWER_SECONDS:.0f} s from silent"):
        gathered(clock, [["silent"]], {}, None)
    assert clock.now == pytest.approx(FIRST_ANSWER_SECONDS, abs=2)
