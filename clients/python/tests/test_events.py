"""Following events over several connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest
from fakes import (
    SUCCEEDED,
    FakeService,
    breaks,
    json_answer,
    no_answer,
    operation,
    problem,
    sent,
    stream,
)

from mucast_client import ConnectionLostError, NoEventStreamError, RequestRefusedError

Fake = Callable[..., FakeService]
ACCEPTED = json_answer(operation())
QUEUED = sent(1, "queued", {"operation": "run_ml_job"})
STARTED = sent(2, "started", {"attempt": 1})
PROGRESS = sent(3, "progress", {"stage": "fit", "done": 1, "total": 4})
ENDED = sent(4, "succeeded", SUCCEEDED)


def seqs(service: FakeService, last_event_id: int | None = None) -> list[int]:
    return [event["seq"] for event in service.client.attach("one").events(last_event_id)]


def resumed_after(service: FakeService) -> list[str | None]:
    return [request.headers.get("last-event-id") for request in service.requests[1:]]


def test_resumes_after_the_last_event_and_repeats_none(fake: Fake, pauses: list[float]) -> None:
    service = fake(
        ACCEPTED,
        stream(breaks(b"retry: 3000\n\n", QUEUED, STARTED[:20])),
        no_answer,
        problem("unavailable", 503),
        stream([STARTED, PROGRESS]),
        stream([ENDED]),
    )
    assert seqs(service) == [1, 2, 3, 4]
    assert resumed_after(service) == [None, "1", "1", "1", "3"]
    assert pauses[0] == pauses[3] == 3.0
    assert len(pauses) == 4


def test_a_proxy_may_end_lines_with_crlf(fake: Fake, pauses: list[float]) -> None:
    parts = b"retry: 3000\n\n".join([b"", QUEUED]).replace(b"\n", b"\r\n")
    service = fake(ACCEPTED, stream([parts[:-1], parts[-1:]]), stream([ENDED]))
    assert seqs(service) == [1, 4]
    assert pauses == [3.0]


def test_kept_events_follow_a_snapshot_even_of_an_ended_operation(fake: Fake) -> None:
    service = fake(ACCEPTED, stream([sent(2, "snapshot", SUCCEEDED), PROGRESS, ENDED]))
    assert seqs(service) == [2, 3, 4]


def test_ends_if_nothing_follows_the_last_event(fake: Fake) -> None:
    service = fake(ACCEPTED, lambda _: httpx.Response(204, content=iter([b""])))
    assert seqs(service, 4) == []


@pytest.mark.parametrize(("code", "status"), [("not_found", 404), ("unauthorized", 401)])
def test_a_refusal_ends_the_stream(fake: Fake, code: str, status: int) -> None:
    service = fake(ACCEPTED, stream([QUEUED]), problem(code, status))
    with pytest.raises(RequestRefusedError, match=code):
        seqs(service)
    assert len(service.requests) == 3


def test_gives_up_after_twelve_connections_without_an_event(fake: Fake, pauses: list[float]) -> None:
    with pytest.raises(ConnectionLostError, match="ConnectError: connection refused"):
        seqs(fake(ACCEPTED, stream([QUEUED]), no_answer))
    assert len(pauses) == 12
    silent = fake(ACCEPTED, stream([b": nothing\n\n"]))
    with pytest.raises(ConnectionLostError, match="ends without an event"):
        seqs(silent)
    assert len(silent.requests) == 13


def test_names_what_is_no_stream_of_events(fake: Fake) -> None:
    with pytest.raises(NoEventStreamError, match="'text/html'"):
        seqs(fake(ACCEPTED, stream([b"<html>"], **{"content-type": "text/html"})))
    with pytest.raises(NoEventStreamError, match="nothing arrives"):
        seqs(fake(ACCEPTED, silent))
    with pytest.raises(NoEventStreamError, match="invalid event: 'nonsense'"):
        seqs(fake(ACCEPTED, stream([b"data: nonsense\n\n"])))
    with pytest.raises(NoEventStreamError, match="too large"):
        seqs(fake(ACCEPTED, stream([b"data: " + b"x" * 2**21])))


def silent(request: httpx.Request) -> httpx.Response:
    """A proxy that buffers whole answers."""

    def nothing() -> Iterator[bytes]:
        raise httpx.ReadTimeout("timed out", request=request)
        yield b""

    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=nothing())
