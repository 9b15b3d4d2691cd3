"""In what form arrays go to the cluster, and when again."""

import json
import os
import pickle
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from cluster_tasks import QUICK, fit_task
from stage import AtOnce, FakeSession

from mucast_engine.arrays import Message
from mucast_engine.cluster.requests import TaskRequest, read_task
from mucast_engine.cluster.sender import Sender
from mucast_engine.cluster.session import Session


class KeepingSession(FakeSession):
    """Keeps the arrays that are put."""

    def __init__(self) -> None:
        super().__init__()
        self.arrays: list[Any] = []

    def put(self, array: Any) -> Any:
        self.arrays.append(array)
        return array


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> KeepingSession:
    monkeypatch.setattr(Sender, "_threads", staticmethod(lambda count: AtOnce()))
    return KeepingSession()


def send(sender: Sender, request: TaskRequest) -> None:
    message: Message = {"key": "1.1"}
    sender.send(
        message,
        request,
        1.0,
        [],
        still_wanted=lambda: True,
        claim=lambda: True,
        taken=lambda handle: None,
        done=lambda answer: None,
        failed=lambda error: pytest.fail(str(error)),
    )


def request_in(folder: Path) -> TaskRequest:
    task = fit_task(folder, "p", QUICK)
    return read_task({"op": "task", "worker": 1, "id": 1}, json.dumps(task).encode())


def test_a_node_can_use_an_array_where_its_store_has_it(session: KeepingSession, tmp_path: Path) -> None:
    """Its bytes stay out of the pickle, so that no process of the node copies them out of it."""
    request = request_in(tmp_path)
    send(Sender(cast(Session, session), tmp_path, 1 << 20), request)
    assert len(session.arrays) == len(request.arrays)
    for ref, array in zip(request.arrays, session.arrays, strict=True):
        buffers: list[pickle.PickleBuffer] = []
        text = pickle.dumps(array, protocol=5, buffer_callback=buffers.append)
        assert (len(buffers), len(text) < 1000) == (1, True)
        assert bytes(buffers[0]) == np.load(ref["ref"]).tobytes()


def test_an_array_goes_once_until_its_file_is_another(session: KeepingSession, tmp_path: Path) -> None:
    """Also if the time of its last change was put back."""
    request = request_in(tmp_path)
    sender = Sender(cast(Session, session), tmp_path, 1 << 20)
    send(sender, request)
    send(sender, request)
    assert len(session.arrays) == 2
    path = Path(request.arrays[0]["ref"])
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # Until the clock of the file system goes on.
        path.write_bytes(path.read_bytes())
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    send(sender, request)
    assert len(session.arrays) == 3
