"""Which nodes a job begins with; the nodes are rows as Ray's are, and a fake session answers in their place."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from test_answers import GREETING

from mucast_engine.arrays import Message
from mucast_engine.cluster.fault import ClusterError
from mucast_engine.cluster.muster import Muster
from mucast_engine.cluster.session import Session

ROWS: list[Message] = [
    {"NodeID": id, "Alive": True, "NodeManagerAddress": id, "NodeManagerPort": 1, "Resources": {"CPU": 1.0}}
    for id in ("a", "b")
]


class FakeSession:
    """A cluster of two nodes, of which `a` answers, and `b` is as the test says."""

    def __init__(self, looks: list[list[Message]], takes: bool | None, answer: Exception | None) -> None:
        """`looks`: what Ray lists at one look after the other."""
        self._looks, self._takes, self._answer = list(looks), takes, answer

    def nodes(self) -> list[Message]:
        return self._looks.pop(0)

    def start_relay(self, head: str) -> None:
        pass

    def reach(self, places: dict[str, tuple[str, int]], done: Callable[[Any], None]) -> None:
        done({"a": True, "b": self._takes})

    def inspect(self, node: str, spec: Message, done: Callable[[Any], None]) -> None:
        if node == "a":
            done({"node": node, "greeting": GREETING})
        elif self._answer is not None:
            done(self._answer)


def gathered(session: FakeSession) -> list[str]:
    muster = Muster(cast(Session, session), cast(Any, None), {}, {}, "e")
    muster.gather(lambda words: None)
    return [node.id for node in muster.membership.members]


def test_a_job_begins_without_a_node_that_refuses_connections() -> None:
    assert gathered(FakeSession([ROWS, ROWS], takes=False, answer=None)) == ["a"]


def test_a_job_begins_without_a_node_that_is_listed_no_more() -> None:
    session = FakeSession([ROWS, ROWS[:1]], takes=None, answer=RuntimeError("the node does not exist any more"))
    assert gathered(session) == ["a"]


def test_a_node_that_lives_and_does_not_answer_is_a_fault() -> None:
    session = FakeSession([ROWS, ROWS], takes=True, answer=RuntimeError("it has no Python"))
    with pytest.raises(ClusterError, match="the engine does not start on a node of the cluster: b: it has no Python"):
        gathered(session)


def test_a_cluster_that_loses_its_nodes_meanwhile_has_none() -> None:
    with pytest.raises(ClusterError, match="has lost all its nodes"):
        gathered(FakeSession([ROWS, []], takes=False, answer=RuntimeError("it is gone")))
