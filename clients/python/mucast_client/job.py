"""A submitted operation: its state, its events and its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Literal, TypeVar, cast

from .answers import json_object
from .connection import Call, Connection, pause
from .deadline import Deadline
from .errors import (
    ConnectionLostError,
    MucastError,
    NoEventStreamError,
    OperationCanceledError,
    OperationFailedError,
)
from .events import EventFollower, ended_by, operation_path
from .models import Event, Operation, Snapshot
from .progress import TextDisplay, open_display, show_event, show_operation

# If there is no stream of events.
POLL_SECONDS = 2.0
ENDS = frozenset({"Succeeded", "Failed", "Canceled"})

Status = Literal["NotStarted", "Running", "Succeeded", "Failed", "Canceled"]
R_co = TypeVar("R_co", covariant=True)


class Job(Generic[R_co]):
    """An operation of the service. It continues whether or not anything here waits for it.

    `operation` is its state when the service last described it; `refresh` asks again.
    """

    def __init__(
        self,
        connection: Connection,
        operation: Operation,
        open_result: Callable[[Connection, Operation], R_co],
    ) -> None:
        self._connection = connection
        self._open_result = open_result
        self.operation = operation

    def __repr__(self) -> str:
        return f"<Job {self.id}: {self.operation['operation']}, {self.status}>"

    @property
    def id(self) -> str:
        return self.operation["id"]

    @property
    def status(self) -> Status:
        """The status in `operation`."""
        return self.operation["status"]

    def refresh(self) -> Operation:
        """Asks the service for the current state."""
        self.operation = fetch_operation(self._connection, self.id)
        return self.operation

    def cancel(self) -> Operation:
        """Cancels the operation; it stays Running until its job has stopped. An ended operation is unchanged."""
        answer = self._connection.send(Call("POST", f"{operation_path(self.id)}/cancel"))
        self.operation = cast("Operation", json_object(answer, "id"))
        return self.operation

    def events(self, last_event_id: int | None = None) -> Iterator[Event | Snapshot]:
        """The operation's events up to its end, or those after `last_event_id`.

        It reconnects as often as necessary, and misses and repeats no event. A `snapshot` replaces events that the
        service no longer keeps; the kept ones follow it. Raises NoEventStreamError if no stream gets through, and
        ConnectionLostError if twelve connections in a row fail.
        """
        return EventFollower(self._connection, self.id, last_event_id).follow()

    def wait(self, *, timeout: float | None = None, progress: bool = True) -> R_co:
        """Waits for the end and returns the result.

        It follows the events, reconnects after lost connections, and polls if no stream of events gets through. After
        `timeout` seconds, it raises WaitTimeoutError. Raises OperationFailedError or OperationCanceledError with the
        problem of an operation that did not succeed, and ConnectionLostError if the service stays away for about a
        minute; in that case and after a timeout, the operation continues.
        """
        if self.status not in ENDS:
            self.operation = Deadline(timeout, self.id).run(lambda: self._end(open_display(progress)))
        return self.result()

    def result(self) -> R_co:
        """The result of an operation that has succeeded, without waiting.

        Raises OperationFailedError or OperationCanceledError if it did not succeed, and MucastError if it has not ended
        as far as `operation` says.
        """
        error = self.operation["error"]
        if self.status == "Canceled" and error is not None:
            raise OperationCanceledError(error, self.operation)
        if error is not None:
            raise OperationFailedError(error, self.operation)
        if self.operation["result"] is None:
            raise MucastError(f"operation {self.id} is {self.status}: it has left no output")
        return self._open_result(self._connection, self.operation)

    def _end(self, display: TextDisplay) -> Operation:
        try:
            display.show_line(f"{self.operation['operation']} {self.id}")
            return self._end_by_events(display) or self._end_by_polling(display)
        finally:
            display.close()

    def _end_by_events(self, display: TextDisplay) -> Operation | None:
        """None if no stream of events gets through."""
        try:
            for event in EventFollower(self._connection, self.id).follow():
                show_event(display, event)
                ended = ended_by(event)
                if ended is not None:
                    return ended
        except (NoEventStreamError, ConnectionLostError):
            return None
        return None

    def _end_by_polling(self, display: TextDisplay) -> Operation:
        while True:
            operation = self.refresh()
            if operation["status"] in ENDS:
                return operation
            show_operation(display, operation)
            pause(POLL_SECONDS)


def fetch_operation(connection: Connection, operation_id: str) -> Operation:
    return cast("Operation", json_object(connection.send(Call("GET", operation_path(operation_id))), "id"))
