"""The error that a task ends with, and the library's own message in it."""

import re
from typing import Any, Literal, Never

# Each is a code of the caller's errors.
Code = Literal[
    "constant_target",
    "device_unavailable",
    "diverged",
    "fit_failed",
    "insufficient_history",
    "internal",
    "invalid_model_params",
    "output_failed",
]


class TaskError(Exception):
    """A task that cannot be done, with the code and the structured facts that the caller shows to the user."""

    def __init__(self, code: Code, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data or {}


def unknown(what: str, name: Never) -> TaskError:
    """The error for a name that no case of a match handles; mypy refuses the call if a name of the set has no case."""
    return TaskError("internal", f"no {what} {name!r}")


# Lines of the libraries' C++ sources, the time of day and stack traces mean nothing to the user. The same fault also
# has to give the same message on every run, because the output contains it.
NOISE = [
    re.compile(r"Stack trace:.*"),
    re.compile(r"^\[\d\d:\d\d:\d\d\] (WARNING: )?\S+\.(cc|h|cu):\d+: "),
    re.compile(r"^\S+\.(cpp|h):\d+: "),
    re.compile(r"^\[LightGBM\] \[\w+\] "),
    re.compile(r" at \S+\.(cpp|hpp|h), line \d+ ?\.$"),
    re.compile(r"0x[0-9a-f]{6,}"),
]
MAX_LENGTH = 500


def sentence_of(said: BaseException | Warning | str) -> str:
    """The library's own message on one line; the type's name if an exception has none."""
    words = " ".join(str(said).split())
    for noise in NOISE:
        words = noise.sub("", words)
    words = words.strip() or type(said).__name__
    return words if len(words) <= MAX_LENGTH else f"{words[:MAX_LENGTH]} …"
