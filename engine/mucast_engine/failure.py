"""The one error a task can end with."""

from typing import Any


class TaskError(Exception):
    """A task that cannot be done, with the code and the structured facts its caller shows to the user."""

    def __init__(self, code: str, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data or {}


def sentence_of(error: BaseException) -> str:
    """The library's own words, on one line; the type's name where it has none."""
    words = " ".join(str(error).split())
    return words or type(error).__name__
