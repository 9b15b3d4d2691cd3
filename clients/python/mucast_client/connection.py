"""Requests to one service, with its credentials, and their retries."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from .address import authorization, is_loopback, service_url
from .answers import Answer, error_of
from .deadline import DEADLINE
from .errors import ConnectionLostError
from .version import __version__

RETRIES = 5
RETRYABLE_STATUSES = frozenset({429, 502, 503, 504})
# Seconds; the client does not wait for a service that asks for more.
MAX_RETRY_AFTER = 60.0
CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
# A report, a price CSV, a preview or an upload may take the service's `request_seconds`, which is 120 by default.
LONG_READ_SECONDS = 600.0
FIRST_BACKOFF = 0.2
MAX_BACKOFF = 10.0


@dataclass(frozen=True)
class Call:
    """A request that has the same effect if it is sent twice."""

    method: str
    # Starts with a slash.
    path: str
    query: Mapping[str, str | int | Sequence[str] | None] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Path | None = None
    read_seconds: float = READ_SECONDS


class Connection:
    """Safe to share between threads, as httpx.Client is."""

    def __init__(self, url: str, key: str | None, transport: httpx.BaseTransport | None = None) -> None:
        self.url = service_url(url)
        self._http = httpx.Client(
            # httpx shows this header as [secure]; the key is kept nowhere else.
            headers={"user-agent": f"mucast-client/{__version__}", **authorization(key)},
            # A payload and its signatures go only to the service that the caller has named.
            follow_redirects=False,
            # With one, httpx uses no proxy of the environment, which would see the key for this machine.
            transport=transport or (httpx.HTTPTransport() if is_loopback(httpx.URL(self.url).host) else None),
        )

    def close(self) -> None:
        self._http.close()

    @contextmanager
    def stream(self, call: Call) -> Iterator[httpx.Response]:
        """One attempt; yields any answer before its body is read. Raises httpx.RequestError if there is none."""
        query = {name: value for name, value in call.query.items() if value is not None}
        body = call.body.open("rb") if isinstance(call.body, Path) else call.body
        cut = DEADLINE.get().cut
        try:
            with self._http.stream(
                call.method,
                f"{self.url}{call.path}",
                params=query or None,
                headers=dict(call.headers),
                content=body,
                timeout=httpx.Timeout(cut(CONNECT_SECONDS), read=cut(call.read_seconds), write=cut(LONG_READ_SECONDS)),
            ) as response:
                yield response
        finally:
            if body is not None and not isinstance(body, bytes):
                body.close()

    def send(self, call: Call) -> Answer:
        """The 2xx answer to a call, read whole.

        A call is sent up to five more times if there is no answer, if the answer breaks off while it is read, or if its
        status is 429, 502, 503 or 504 (except for work that took too long, `timed_out`). Raises ApiError for any other
        answer, and ConnectionLostError if there is none.
        """
        failures = 0
        while True:
            failures += 1
            may_repeat = failures <= RETRIES
            try:
                with self.stream(call) as response:
                    answer = answer_of(response)
            except httpx.RequestError as error:
                if not may_repeat:
                    raise ConnectionLostError(f"{self.url} gives no answer: {reason_of(error)}") from error
                pause(backoff(failures))
                continue
            if answer.is_success:
                return answer
            refusal = error_of(answer)
            is_temporary = answer.status in RETRYABLE_STATUSES and refusal.code != "timed_out"
            if not (may_repeat and is_temporary):
                raise refusal
            asked = answer.headers.get("retry-after", "")
            seconds = float(asked) if asked.isdecimal() else backoff(failures)
            if seconds > MAX_RETRY_AFTER:
                raise refusal
            pause(seconds)


def answer_of(response: httpx.Response) -> Answer:
    parts: list[bytes] = []
    for part in response.iter_bytes():
        DEADLINE.get().check()
        parts.append(part)
    return Answer(response.status_code, str(response.url), response.headers, b"".join(parts))


def backoff(failures: int) -> float:
    """Seconds before another attempt: doubling, and half of it random, so that clients do not retry all at once."""
    most: float = min(MAX_BACKOFF, FIRST_BACKOFF * 2.0 ** (failures - 1))
    return most / 2 + random.random() * most / 2


def pause(seconds: float) -> None:
    """Raises WaitTimeoutError if the deadline comes first."""
    deadline = DEADLINE.get()
    time.sleep(deadline.cut(seconds))
    deadline.check()


def reason_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
