"""Lets a test reach one port of a cluster whose network it is not in."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

_CHUNK = 1 << 18


@dataclass
class Flow:
    """Bytes in one direction."""

    passed: int = 0
    held: int = 0
    """They have arrived, and wait until the cable is back."""


class Relay:
    """Passes on what arrives at `listener`, a socket of the network outside, to `target`, and what is answered.

    It is the only way in, so `cut` cuts the one who connects off: connections stay, and nothing passes, as with a cable
    that was pulled. `restore` passes on what has waited.
    """

    def __init__(self, listener: socket.socket, target: tuple[str, int]) -> None:
        self._listener = listener
        self._target = target
        self.sent = Flow()
        """To the cluster."""
        self.received = Flow()
        self._passes = threading.Event()
        self._passes.set()
        self._start(self._accept)

    def cut(self) -> None:
        self._passes.clear()

    def restore(self) -> None:
        self._passes.set()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            self._start(self._connect, near)

    def _connect(self, near: socket.socket) -> None:
        self._passes.wait()
        try:
            far = socket.create_connection(self._target)
        except OSError:
            near.close()
            return
        for side in (near, far):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._start(self._pump, near, far, self.sent)
        self._pump(far, near, self.received)

    def _pump(self, source: socket.socket, sink: socket.socket, flow: Flow) -> None:
        try:
            while data := source.recv(_CHUNK):
                flow.held += len(data)
                self._passes.wait()
                flow.held -= len(data)
                sink.sendall(data)
                flow.passed += len(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            # One side is gone, so the other one has to learn of it, and the thread that reads from it.
            for side in (source, sink):
                with suppress(OSError):
                    side.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _start(target: Callable[..., None], *arguments: object) -> None:
        threading.Thread(target=target, args=arguments, daemon=True).start()
