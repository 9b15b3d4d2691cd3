"""The format text/event-stream, as far as the service uses it."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# The service sends at most 256 KiB in one event.
MAX_LINE_CHARS = 2**20
MAX_DATA_CHARS = 2**20


@dataclass(frozen=True)
class SentEvent:
    data: str


@dataclass(frozen=True)
class Retry:
    """The pause before reconnecting that the server asks for."""

    seconds: float


class OversizedEventError(Exception):
    """A line or an event that is larger than any of mucast."""


def sent_events(parts: Iterable[bytes]) -> Iterator[SentEvent | Retry]:
    """The messages of a body. One that is truncated at its end is dropped: the next connection sends it again."""
    data: list[str] = []
    size = 0
    for line in lines_of(parts):
        if line == "":
            if data:
                yield SentEvent("\n".join(data))
            data, size = [], 0
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
            size += len(value) + 1
            if size > MAX_DATA_CHARS:
                raise OversizedEventError
        elif name == "retry" and value.isascii() and value.isdigit():
            # Unlike int, float reads any number of digits.
            yield Retry(float(value) / 1_000)


def lines_of(parts: Iterable[bytes]) -> Iterator[str]:
    """Lines that end with LF, CR or both, also across two parts."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    # What has arrived of the present line.
    begun: list[str] = []
    size = 0
    ends_with_return = False
    for part in parts:
        text = decoder.decode(part)
        if text == "":
            continue
        # The second half of a line end whose first half was in the previous part.
        added = text.removeprefix("\n") if ends_with_return else text
        ends_with_return = text.endswith("\r")
        *lines, rest = added.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for line in lines:
            yield "".join([*begun, line])
            begun, size = [], 0
        begun.append(rest)
        size += len(rest)
        if size > MAX_LINE_CHARS:
            raise OversizedEventError
