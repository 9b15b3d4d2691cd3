"""A fake service in this process: it answers the client's requests with a test's answers, in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import httpx

from mucast_client import Client

Answer = Callable[[httpx.Request], httpx.Response]
URL = "https://mucast.example.com"
KEY = "mucast_0123456789abcdef_a-secret-that-no-one-may-see"
EVENT_STREAM = {"content-type": "text/event-stream"}


class FakeService:
    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.client = Client(URL, KEY, transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return answer(request)

    @property
    def asked(self) -> list[str]:
        """Method and path of each request."""
        return [f"{request.method} {request.url.raw_path.decode()}" for request in self.requests]


def json_answer(value: object, status: int = 200, **headers: str) -> Answer:
    # A stream, because a body given as bytes counts as read before the client reads it.
    body = json.dumps(value).encode()
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return lambda _: httpx.Response(status, headers={"content-type": "application/json", **named}, content=iter([body]))


def problem(code: str, status: int, **headers: str) -> Answer:
    return json_answer(problem_of(code, status), status, **headers)


def problem_of(code: str, status: int) -> dict[str, Any]:
    return {
        "type": f"urn:mucast:error:{code}",
        "title": code,
        "status": status,
        "code": code,
        "detail": f"this is {code}",
        "advice": "Do something else.",
    }


def no_answer(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused", request=request)


def broken_body(request: httpx.Request) -> httpx.Response:
    """An answer that breaks off while it is read."""
    return httpx.Response(200, content=breaks(b'{"id":'))


def breaks(*parts: bytes) -> Iterator[bytes]:
    yield from parts
    raise httpx.ReadError("connection reset")


def stream(parts: Iterable[bytes], **headers: str) -> Answer:
    return lambda _: httpx.Response(200, headers={**EVENT_STREAM, **headers}, content=iter(parts))


def sent(seq: int, type: str, data: object) -> bytes:
    event = {"seq": seq, "operation_id": "one", "time": "2026-01-05T00:00:00.000Z", "type": type, "data": data}
    return f"id: {seq}\nevent: {type}\ndata: {json.dumps(event)}\n\n".encode()


def operation(status: str = "NotStarted", **members: object) -> dict[str, Any]:
    return {
        "id": "one",
        "operation": "run_ml_job",
        "status": status,
        "created_at": "2026-01-05T00:00:00.000Z",
        "started_at": None,
        "finished_at": None,
        "progress": None,
        "warnings": [],
        "result": None,
        "error": None,
        **members,
    }


RECORD = {
    "status": "Succeeded",
    "output_url": f"{URL}/data/ml_engine_one.json",
    "output_name": "ml_engine_one.json",
    "execution_name": "ml-worker-job-1",
}
SUCCEEDED = operation("Succeeded", result=RECORD)
FAILED = operation("Failed", error=problem_of("all_failed", 422))
CANCELED = operation("Canceled", error=problem_of("canceled", 409))
JOB: dict[str, Any] = {
    "features": f"{URL}/data/f.json",
    "prices": f"{URL}/data/d.json",
    "config": {"ML params": {"model": "ridge"}},
}
