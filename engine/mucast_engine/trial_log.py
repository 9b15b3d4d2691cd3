"""What lightgbm logs during a trial: it passes over an unknown name with a line in its log."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Logger:
    """The kind that lightgbm asks for; its native library logs everything as `info`, whatever the level."""

    def __init__(self, take: Callable[[str], object]) -> None:
        self.info = self.warning = take


@contextmanager
def lightgbm_log(library: str) -> Iterator[list[str]]:
    """The lines that lightgbm logs within; afterwards it prints them, as it does by itself."""
    lines: list[str] = []
    if library != "lightgbm":
        yield lines
        return
    lightgbm = importlib.import_module("lightgbm")
    lightgbm.register_logger(_Logger(lines.append))
    try:
        yield lines
    finally:
        lightgbm.register_logger(_Logger(print))
