"""A TCP proxy on loopback that cuts connections in the middle of answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType

import httpx

CutIn = Callable[[bytes], int | None]


class CuttingProxy:
    """Forwards bytes to a service.

    `cut_in`: gets each part of an answer, and returns how many of its bytes reach the client before the connection is
    cut, or None to forward the part whole.
    """

    def __init__(self, target: str, cut_in: CutIn) -> None:
        url = httpx.URL(target)
        self._target = (url.host, url.port or 80)
        self._cut_in = cut_in
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.connections = 0

    def __enter__(self) -> CuttingProxy:
        self._start(self._accept)
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        # Wakes the threads that wait; closing alone does not.
        shut(self._listener, *self._sockets)
        for thread in self._threads:
            thread.join()
        for end in (self._listener, *self._sockets):
            end.close()

    def transport(self) -> httpx.BaseTransport:
        """Sends requests for the service, with its name as their Host, through this proxy."""
        return ProxyTransport(self._listener.getsockname()[1])

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            service = socket.create_connection(self._target)
            self._sockets += [client, service]
            self._start(forward, client, service, lambda _: None)
            self._start(forward, service, client, self._cut_in)


class ProxyTransport(httpx.HTTPTransport):
    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        return super().handle_request(request)


def forward(source: socket.socket, target: socket.socket, cut_in: CutIn) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65_536):
            end = cut_in(part)
            target.sendall(part if end is None else part[:end])
            if end is not None:
                break
    shut(source, target)


def shut(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
