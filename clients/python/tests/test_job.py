"""Waiting for the end of a job, and what it leaves."""

from __future__ import annotations

import pickle
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import cast

import pytest
from fakes import (
    CANCELED,
    FAILED,
    JOB,
    SUCCEEDED,
    Answer,
    FakeService,
    json_answer,
    no_answer,
    operation,
    problem,
    sent,
    stream,
)

from mucast_client import (
    Client,
    ConnectionLostError,
    Job,
    MucastError,
    OperationCanceledError,
    OperationFailedError,
    WaitTimeoutError,
)
from mucast_client.models import Operation
from mucast_client.results import open_result

Fake = Callable[..., FakeService]
ACCEPTED = json_answer(operation(), 202)
NO_STREAM = stream([b""], **{"content-type": "text/html"})
WARNING = {"code": "no_skill", "message": "Too few dates to judge."}
FAILURE = {"ticker": "BETA", "code": "fit_failed", "message": "BETA: no rows"}


def progress(done: int) -> dict[str, object]:
    return {"stage": "fit", "done": done, "total": 40}


def test_returns_the_result_and_shows_the_way_there(
    fake: Fake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    events = [sent(k, "progress", progress(k)) for k in range(1, 41)]
    warned = [sent(41, "warning", {**WARNING, "ticker": "ALFA"}), sent(42, "failure", FAILURE)]
    service = fake(ACCEPTED, stream([*events, *warned, sent(43, "succeeded", SUCCEEDED)]))
    result = service.client.run_ml_job(**JOB)
    assert result.output_url == SUCCEEDED["result"]["output_url"]
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "run_ml_job one",
        "fit 1/40",
        *(f"fit {k}/40" for k in range(4, 41, 4)),
        "warning no_skill (ALFA): Too few dates to judge.",
        "failed BETA: fit_failed: BETA: no rows",
    ]


def test_shows_a_bar_of_tqdm_and_closes_it(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    events = [sent(1, "progress", progress(20)), sent(2, "warning", WARNING), sent(3, "succeeded", SUCCEEDED)]
    fake(ACCEPTED, stream(events)).client.run_dl_job(**JOB)
    shown = capsys.readouterr().err
    assert "fit:  50%" in shown
    assert "warning no_skill: Too few dates to judge." in shown
    assert shown.endswith("\n")


def test_shows_nothing_without_progress(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    events = [sent(1, "progress", progress(20)), sent(2, "succeeded", SUCCEEDED)]
    fake(ACCEPTED, stream(events)).client.run_ml_job(**JOB, progress=False)
    assert "".join(capsys.readouterr()) == ""


@pytest.mark.parametrize(
    ("ended", "type", "error", "code"),
    [
        (FAILED, "failed", OperationFailedError, "all_failed"),
        (CANCELED, "canceled", OperationCanceledError, "canceled"),
    ],
)
def test_raises_the_problem_of_a_job_that_did_not_succeed(
    fake: Fake, ended: dict[str, object], type: str, error: type[OperationFailedError], code: str
) -> None:
    service = fake(ACCEPTED, stream([sent(1, type, ended)]))
    with pytest.raises(error) as caught:
        service.client.run_ml_job(**JOB, progress=False)
    for raised in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (raised.code, raised.advice, raised.operation) == (code, "Do something else.", ended)
        assert str(raised) == f"{code}: this is {code}\nDo something else."


def test_polls_if_no_stream_gets_through(fake: Fake, pauses: list[float]) -> None:
    running = json_answer(operation("Running", progress=progress(1)))
    service = fake(ACCEPTED, NO_STREAM, running, running, json_answer(SUCCEEDED))
    service.client.run_ml_job(**JOB, progress=False)
    assert service.asked[2:] == ["GET /v1/operations/one"] * 3
    assert pauses == [2.0, 2.0]


def test_a_job_outlives_a_lost_connection_and_can_be_attached_again(fake: Fake) -> None:
    service = fake(ACCEPTED, *[no_answer] * 18, json_answer(SUCCEEDED))
    job = service.client.submit("run_ml_job", **JOB)
    with pytest.raises(ConnectionLostError):
        job.wait(progress=False)
    attached = service.client.attach(job.id)
    assert attached.wait(progress=False).id == "one"
    assert [asked for asked in service.asked if asked.startswith("POST")] == ["POST /v1/run_ml_job"]


@pytest.mark.parametrize("answer", [json_answer(operation("Running")), problem("unavailable", 503, retry_after="60")])
def test_a_timeout_ends_only_the_waiting(fake: Fake, monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    service = fake(ACCEPTED, NO_STREAM, answer)
    job = service.client.submit("run_ml_job", **JOB)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(WaitTimeoutError, match="operation one did not end within 5 s; it continues") as caught:
        job.wait(timeout=5, progress=False)
    assert isinstance(caught.value, TimeoutError)
    assert now == 5
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.operation_id, copy.seconds, str(copy)) == ("one", 5, str(caught.value))


@contextmanager
def dripping(head: bytes) -> Iterator[Client]:
    """The client of a service that begins an answer with these bytes and then sends spaces without end."""
    over = threading.Event()

    class Drip(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            with suppress(OSError):
                self.request.sendall(head)
                while not over.wait(0.02):
                    self.request.sendall(b" ")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Drip) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            with Client(f"http://127.0.0.1:{server.server_address[1]}") as client:
                yield client
        finally:
            over.set()
            server.shutdown()


@pytest.mark.parametrize("head", ["x: ", "\r\n", "content-type: text/event-stream\r\n\r\n"])
def test_a_timeout_ends_the_wait_for_an_answer_that_never_ends(head: str) -> None:
    with dripping(f"HTTP/1.1 200 OK\r\n{head}".encode()) as client:
        with pytest.raises(WaitTimeoutError, match="operation one did not end"):
            Job(client._connection, cast("Operation", operation()), open_result).wait(timeout=0.2, progress=False)
        with pytest.raises(WaitTimeoutError, match=r"no submission was confirmed within 0\.2 s$") as caught:
            client.run_ml_job(**JOB, timeout=0.2, progress=False)
        assert caught.value.operation_id is None


def test_a_timeout_after_the_submission_names_the_operation() -> None:
    with pytest.raises(WaitTimeoutError, match=r"operation one did not end within 0\.2 s; it continues"):
        FakeService([ACCEPTED, problem("unavailable", 503)]).client.run_ml_job(**JOB, timeout=0.2, progress=False)


def test_a_job_that_has_not_ended_has_no_result(fake: Fake) -> None:
    service = fake(ACCEPTED, json_answer(operation("Running")), json_answer(CANCELED))
    job = service.client.submit("run_ml_job", **JOB)
    with pytest.raises(MucastError, match="operation one is NotStarted"):
        job.result()
    assert (job.refresh()["status"], job.status) == ("Running", "Running")
    assert job.cancel()["status"] == "Canceled"
    assert repr(job) == "<Job one: run_ml_job, Canceled>"
    with pytest.raises(OperationCanceledError):
        job.wait()


def test_lists_all_operations_page_by_page(fake: Fake) -> None:
    pages = [{"operations": [operation()] * 2, "next_cursor": "c"}, {"operations": [FAILED], "next_cursor": None}]
    service = fake(*map(json_answer, pages))
    assert len(list(service.client.operations(status="Failed"))) == 3
    assert service.asked == [
        "GET /v1/operations?status=Failed&limit=100",
        "GET /v1/operations?status=Failed&limit=100&cursor=c",
    ]


def test_a_refused_job_names_every_fault(fake: Fake) -> None:
    faults = [{"path": "config.ML params.n_split", "message": "unknown key"}]
    refused = {"code": "invalid_request", "detail": "config.ML params.n_split: unknown key", "faults": faults}
    service = fake(json_answer(refused, 400))
    with pytest.raises(MucastError) as caught:
        service.client.submit("run_ml_job", **JOB)
    assert getattr(caught.value, "faults", None) == faults
    assert str(caught.value) == "invalid_request: config.ML params.n_split: unknown key"


def test_nothing_is_sent_for_a_config_that_is_no_json(fake: Fake) -> None:
    service = fake(problem("internal", 500))
    for config in ('{"ML params": }', {"ML params": {"alpha": float("nan")}}):
        with pytest.raises(ValueError):
            service.client.submit("run_ml_job", **{**JOB, "config": config})
    assert service.requests == []
