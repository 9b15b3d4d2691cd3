"""The parser of server-sent events, for every way in which a body may arrive."""

from __future__ import annotations

import pytest

from mucast_client.server_sent_events import MAX_LINE_CHARS, OversizedEventError, Retry, SentEvent, sent_events

BODY = (
    ": a comment\n\nretry: 2000\nretry: soon\n\n"
    "id: 1\nevent: queued\ndata: first\n\n"
    "data:second\r\ndata: line of two — é\r\n\r\n"
    "data: third\r\rdata\n\n"
    "data: truncated\n"
).encode()
EXPECTED = [
    Retry(2.0),
    SentEvent("first"),
    SentEvent("second\nline of two — é"),
    SentEvent("third"),
    SentEvent(""),
]


def test_reads_the_same_wherever_the_body_is_divided() -> None:
    assert list(sent_events([BODY])) == EXPECTED
    for k in range(len(BODY) + 1):
        assert list(sent_events([BODY[:k], BODY[k:]])) == EXPECTED, k
    assert list(sent_events(BODY[k : k + 1] for k in range(len(BODY)))) == EXPECTED


def test_a_separator_of_unicode_ends_no_line() -> None:
    assert list(sent_events(["data: a\u2028b\u0085c\n\n".encode()])) == [SentEvent("a\u2028b\u0085c")]


@pytest.mark.parametrize("part", [b"data: " + b"x" * 1000, b"data: x\n" * 1000])
def test_refuses_an_event_without_end(part: bytes) -> None:
    with pytest.raises(OversizedEventError):
        list(sent_events(part for _ in range(2 * MAX_LINE_CHARS // 1000)))


def test_reads_a_pause_of_any_number_of_digits() -> None:
    pauses = [sent for digits in (400, 5000) for sent in sent_events([b"retry: " + b"9" * digits + b"\n\n"])]
    assert pauses == [Retry(float("inf")), Retry(float("inf"))]
