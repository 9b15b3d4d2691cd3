"""What the client raises. Every error is a MucastError."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .models import Fault, Operation, Problem


class MucastError(Exception):
    """The base of all errors of this package."""


class ApiError(MucastError):
    """The service refused a request, or an operation did not succeed. `problem` says what is wrong and what to do.

    docs/errors.md of mucast lists the codes.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem: Problem = problem

    @property
    def code(self) -> str:
        return self.problem["code"]

    @property
    def status(self) -> int:
        """HTTP status of the problem."""
        return self.problem["status"]

    @property
    def detail(self) -> str:
        return self.problem["detail"]

    @property
    def advice(self) -> str:
        """What to do; empty if the service gave no advice."""
        return self.problem.get("advice", "")

    @property
    def faults(self) -> Sequence[Fault]:
        """Every fault of a payload, with its path."""
        return self.problem.get("faults", [])

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.detail}", self.advice]
        return "\n".join(line for line in lines if line)


class RequestRefusedError(ApiError):
    """The service refused a request."""


class UnexpectedAnswerError(ApiError):
    """An answer that did not come from mucast, for example from a proxy."""


class OperationFailedError(ApiError):
    """An operation ended as Failed."""

    def __init__(self, problem: Problem, operation: Operation) -> None:
        super().__init__(problem)
        self.operation: Operation = operation
        # What unpickling passes to this method.
        self.args = (problem, operation)


class OperationCanceledError(OperationFailedError):
    """An operation ended as Canceled."""


class ConnectionLostError(MucastError):
    """There was no answer, also after retries. A job that was accepted continues: attach to it by its id."""


class NoEventStreamError(MucastError):
    """No stream of events gets through, as behind a proxy that buffers whole answers; `Job.wait` polls instead."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"there is no stream of events: {self.args[0]}"


class WaitTimeoutError(MucastError, TimeoutError):
    """The operation did not end in time, and continues: attach to its id, which is None before it is accepted."""

    def __init__(self, operation_id: str | None, seconds: float) -> None:
        missed = "no submission was confirmed" if operation_id is None else f"operation {operation_id} did not end"
        super().__init__(f"{missed} within {seconds:g} s{'' if operation_id is None else '; it continues'}")
        self.operation_id = operation_id
        self.seconds = seconds

    def __reduce__(self) -> tuple[type[WaitTimeoutError], tuple[str | None, float]]:
        return type(self), (self.operation_id, self.seconds)
