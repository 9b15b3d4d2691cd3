import json
import math
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from regressors import spec_of
from stack_tasks import own_tasks
from task_files import Task

from mucast_engine import worker


class RecordedSocket(socket.socket):
    """Records what is sent, message by message."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(fileno=descriptor)
        self.sent: list[bytes] = []

    def sendall(self, data: Any, flags: int = 0) -> None:
        self.sent.append(bytes(data))


Lines = list[dict[str, Any]]


def served(task: Task, folder: Path) -> list[Lines]:
    """The lines of each message that a worker sends for one task with the id 7."""
    ours, theirs = socket.socketpair()
    with ours, RecordedSocket(theirs.detach()) as connection:
        ours.sendall(b"7\t" + json.dumps(task).encode() + b"\n")
        ours.shutdown(socket.SHUT_WR)
        worker.serve(connection, folder)
    return [[json.loads(line) for line in message.splitlines()] for message in connection.sent]


@pytest.mark.parametrize(("seconds", "counts"), [(math.inf, [4]), (0, [1, 1, 1, 1])])
def test_progress_is_sent_before_the_answer_or_with_it(
    seconds: float,
    counts: list[int],
    make_task: Callable[..., Task],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "TELL_SECONDS", seconds)
    told = served(make_task(spec_of("Ridge")), tmp_path)
    assert [len(lines) for lines in told] == counts
    lines = [line for message in told for line in message]
    assert {line["id"] for line in lines} == {7}
    assert [(line["event"], line.get("fit")) for line in lines] == [
        ("progress", 0),
        ("progress", 1),
        ("progress", 2),
        ("result", None),
    ]


def test_progress_of_epochs_is_sent_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "TELL_SECONDS", math.inf)
    networks = own_tasks(tmp_path, "mlp")
    told = served({"task": "train_stack", "networks": networks, "device": "cpu"}, tmp_path)
    assert [len(lines) for lines in told] == [1] * len(told)
    lines = [line for message in told for line in message]
    assert lines[-1]["event"] == "result"
    assert [(line["ticker"], line["epoch"]) for line in lines[:-1]] == [
        (network["ticker"], epoch) for epoch in (1, 2, 3) for network in networks
    ]
