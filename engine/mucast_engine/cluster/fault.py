"""What ends a gateway: a cluster that cannot be used, and a connection that is lost."""

from typing import Any, Literal

# Each is a code of the caller's errors.
FaultCode = Literal["engine_unavailable", "engine_crashed"]


class ClusterError(Exception):
    """The cluster cannot be used; the caller shows code, message and data to the user. None holds a token or a path."""

    def __init__(self, code: FaultCode, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code: FaultCode = code
        self.message = message
        self.data = data or {}


class ConnectionLostError(Exception):
    """The cluster does not answer any more: the gateway ends, and its caller may start another."""


def unavailable(message: str, **data: Any) -> ClusterError:
    return ClusterError("engine_unavailable", message, data)
