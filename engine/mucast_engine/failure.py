"""The one error a task can end with, and the words of the libraries in it."""

import re
from typing import Any


class TaskError(Exception):
    """A task that cannot be done, with the code and the structured facts its caller shows to the user."""

    def __init__(self, code: str, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data or {}


# Places in the libraries' C++ sources, the time of day and stack traces: nothing to the user, and the same fault
# must give the same words on every run, because they stand in the output.
NOISE = [
    re.compile(r"Stack trace:.*"),
    re.compile(r"^\[\d\d:\d\d:\d\d\] (WARNING: )?\S+\.(cc|h|cu):\d+: "),
    re.compile(r"^\S+\.(cpp|h):\d+: "),
    re.compile(r"^\[LightGBM\] \[\w+\] "),
    re.compile(r" at \S+\.(cpp|hpp|h), line \d+ ?\.$"),
    re.compile(r"0x[0-9a-f]{6,}"),
]
LONGEST = 500


def sentence_of(said: BaseException | Warning | str) -> str:
    """The library's own words on one line; the type's name where an exception has none."""
    words = " ".join(str(said).split())
    for noise in NOISE:
        words = noise.sub("", words)
    words = words.strip() or type(said).__name__
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} …"
