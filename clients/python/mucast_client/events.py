"""Follows the events of an operation over as many connections as it takes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import cast
from urllib.parse import quote

import httpx

from .answers import error_of, object_in
from .connection import Call, Connection, answer_of, backoff, pause, reason_of
from .deadline import DEADLINE
from .errors import ApiError, ConnectionLostError, NoEventStreamError
from .models import Event, Operation, Snapshot

# The service sends something every 15 s at least; after this long without a byte, the connection counts as lost.
SILENCE_SECONDS = 45.0
# A connection that has lasted this long counts as a stream of events, even if it sent none.
ESTABLISHED_SECONDS = 15.0
# The pause before a stream that ended too early is reopened; the service may ask for a different one.
REOPEN_SECONDS = 1.0
MAX_REOPEN_SECONDS = 60.0
# With the pauses between them, three quarters of a minute: longer than a restart of the service, and a lease.
MAX_FAILURES_IN_A_ROW = 12
# The service sends at most 256 KiB in one event.
MAX_EVENT_CHARS = 2**20


def operation_path(operation_id: str) -> str:
    return f"/v1/operations/{quote(operation_id, safe='')}"


def ended_by(event: Event | Snapshot) -> Operation | None:
    """The ended operation, if an event is the final one. Kept events may follow a snapshot."""
    if event["type"] == "succeeded" or event["type"] == "failed" or event["type"] == "canceled":
        return event["data"]
    return None


class EventFollower:
    """The events of one operation, and what is kept between two connections."""

    def __init__(self, connection: Connection, operation_id: str, after: int | None = None) -> None:
        self._connection = connection
        self._path = f"{operation_path(operation_id)}/events"
        # `seq` of the last event seen.
        self._after = after
        self._reopen = REOPEN_SECONDS
        self._is_over = False
        self._has_heard = False
        self._has_brought = False

    def follow(self) -> Iterator[Event | Snapshot]:
        """Yields each event once, and ends after the final one; each connection resumes after the last event seen.

        A `snapshot` replaces events that are no longer kept; the kept ones follow it. Raises NoEventStreamError if no
        stream gets through, ConnectionLostError if twelve connections in a row could not be opened or ended early
        without an event, WaitTimeoutError, and ApiError if the service refuses.
        """
        failures = 0
        while True:
            self._has_heard = self._has_brought = False
            began = time.monotonic()
            failure: Exception | None = None
            try:
                for event in self._events_once():
                    yield event
                    if ended_by(event) is not None:
                        return
                if self._is_over:
                    return
            except ApiError as error:
                if error.status < 500 and error.status != 429:
                    raise
                failure = error
            except httpx.ReadTimeout as error:
                DEADLINE.get().check()
                if not self._has_heard:
                    raise NoEventStreamError("nothing arrives") from error
                failure = error
            except httpx.RequestError as error:
                failure = error
            has_lasted = self._has_heard and time.monotonic() - began > ESTABLISHED_SECONDS
            failures = 0 if self._has_brought or has_lasted else failures + 1
            if failures >= MAX_FAILURES_IN_A_ROW:
                reason = "the stream ends without an event" if failure is None else reason_of(failure)
                raise ConnectionLostError(f"the stream of events is lost: {reason}") from failure
            pause(backoff(failures) if failures > 0 else self._reopen)

    def _events_once(self) -> Iterator[Event | Snapshot]:
        """The events of one connection."""
        after = {} if self._after is None else {"last-event-id": str(self._after)}
        headers = {"accept": "text/event-stream", **after}
        call = Call("GET", self._path, headers=headers, read_seconds=SILENCE_SECONDS)
        with self._connection.stream(call) as response:
            if response.status_code != 200:
                answer = answer_of(response)
                self._is_over = answer.status == 204
                if answer.is_success:
                    return
                raise error_of(answer)
            content_type = response.headers.get("content-type", "")
            if not re.match(r"text/event-stream\b", content_type, re.IGNORECASE):
                raise NoEventStreamError(f"the answer has the content type {content_type[:100]!r}")
            # A truncated event at the end is dropped: the next connection sends it again.
            text = ""
            for part in response.iter_text():
                self._has_heard = True
                DEADLINE.get().check()
                # A proxy may end lines with CRLF.
                *messages, text = (text + part).replace("\r\n", "\n").split("\n\n")
                yield from filter(None, map(self._event_in, messages))
                if len(text) > MAX_EVENT_CHARS:
                    raise NoEventStreamError("it contains an event that is too large")

    def _event_in(self, message: str) -> Event | Snapshot | None:
        """None for a comment, and for the pause that the service asks for."""
        lines = [line.partition(":") for line in message.split("\n")]
        for name, _, value in lines:
            if name == "retry" and value.strip().isdecimal():
                self._reopen = min(float(value) / 1_000, MAX_REOPEN_SECONDS)
        data = "\n".join(value.removeprefix(" ") for name, _, value in lines if name == "data")
        if data == "":
            return None
        event = object_in(data) or {}
        if not isinstance(event.get("seq"), int) or not isinstance(event.get("type"), str):
            raise NoEventStreamError(f"it contains an invalid event: {data[:100]!r}")
        self._after = event["seq"]
        self._has_brought = True
        return cast("Event | Snapshot", event)
