"""A transport that breaks answers off in the middle."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx

CutIn = Callable[[int, bytes], int | None]


class CuttingTransport(httpx.HTTPTransport):
    """`cut_in` gets the status and each part of an answer, and returns how many bytes arrive, or None for all."""

    def __init__(self, cut_in: CutIn) -> None:
        super().__init__()
        self._cut_in = cut_in

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        return httpx.Response(answer.status_code, headers=answer.headers, stream=CutStream(answer, self._cut_in))


class CutStream(httpx.SyncByteStream):
    def __init__(self, answer: httpx.Response, cut_in: CutIn) -> None:
        self._answer = answer
        self._cut_in = cut_in

    def __iter__(self) -> Iterator[bytes]:
        for part in self._answer.iter_raw():
            end = self._cut_in(self._answer.status_code, part)
            yield part[:end]
            if end is not None:
                raise httpx.RemoteProtocolError("peer closed connection")

    def close(self) -> None:
        self._answer.close()
