"""Shows how far a job is, in a notebook or a terminal."""

from __future__ import annotations

import sys
from io import StringIO
from typing import Any, TextIO

from .models import Event, Failure, Operation, Progress, Snapshot, Warning


class TextDisplay:
    """Lines on stderr: a stage when it begins, and at each tenth of it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown: tuple[str, int] | None = None

    def show_progress(self, progress: Progress) -> None:
        stage, done, total = progress["stage"], progress["done"], progress["total"]
        shown = (stage, 10 * done // total if total else 0)
        if shown == self._shown:
            return
        self._shown = shown
        self.show_line(f"{stage} {done}/{total}" if total else f"{stage} {done}")

    def show_line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def close(self) -> None:
        """Has nothing to close."""


class BarDisplay(TextDisplay):
    """One bar of tqdm, which starts again with each stage."""

    def __init__(self, tqdm: Any) -> None:
        super().__init__(sys.stderr)
        self._tqdm = tqdm
        self._bar: Any = None
        self._stage: str | None = None

    def show_progress(self, progress: Progress) -> None:
        stage, done, total = progress["stage"], progress["done"], progress["total"]
        if self._bar is None:
            self._bar = self._tqdm(total=total, desc=stage, unit="", unit_scale=True)
        if stage != self._stage:
            self._bar.reset(total=total)
            self._bar.set_description(stage)
            self._stage = stage
        # Events come at most once a second, so each is shown.
        self._bar.n = done
        self._bar.refresh()

    def show_line(self, text: str) -> None:
        self._tqdm.write(text, file=self._stream)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def open_display(show: bool) -> TextDisplay:
    """A bar if tqdm is installed, otherwise lines of text."""
    if not show:
        return TextDisplay(StringIO())
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return TextDisplay(sys.stderr)
    return BarDisplay(tqdm)


def show_event(display: TextDisplay, event: Event | Snapshot) -> None:
    """Shows an event; one of a later version that is unknown here is ignored."""
    if event["type"] == "progress":
        display.show_progress(event["data"])
    elif event["type"] == "warning":
        display.show_line(warning_line(event["data"]))
    elif event["type"] == "failure":
        display.show_line(failure_line(event["data"]))
    elif event["type"] == "snapshot":
        show_operation(display, event["data"])


def show_operation(display: TextDisplay, operation: Operation) -> None:
    progress = operation["progress"]
    if progress is not None:
        display.show_progress(progress)


def warning_line(warning: Warning) -> str:
    ticker = warning.get("ticker")
    return f"warning {warning['code']}{'' if ticker is None else f' ({ticker})'}: {warning['message']}"


def failure_line(failure: Failure) -> str:
    return f"failed {failure['ticker']}: {failure['code']}: {failure['message']}"
