"""The file that a peer writes: its forecasts, in the form of a mucast output, and their cost."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from panel import Panel, read_panel

# lightgbm's regressor uses all cores by default.
THREADS = int(os.environ["OMP_NUM_THREADS"])


def write_forecasts(forecast: Callable[[Panel], np.ndarray], folder: str, out: str) -> None:
    """Forecasts the score rows of the panel in a folder.

    Elapsed and processor seconds cover fits and forecasts only: libraries are imported and the panel is read before.
    """
    panel = read_panel(Path(folder))
    started, before = time.perf_counter(), processor_seconds()
    predicted = forecast(panel)
    seconds, used = time.perf_counter() - started, processor_seconds() - before
    measured = {"forecasts": by_ticker(panel, predicted), "seconds": seconds, "processor_seconds": used}
    Path(out).write_text(json.dumps(measured))


def processor_seconds() -> float:
    """Processor seconds of all threads of this process, and of the children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def by_ticker(panel: Panel, predicted: np.ndarray) -> dict[str, dict[str, list]]:
    ticker, day = panel.ticker[panel.score], panel.date[panel.score]
    forecasts = {}
    for number, name in enumerate(panel.tickers):
        own = ticker == number
        dates = [panel.dates[place] for place in day[own]]
        forecasts[name] = {"dates": dates, "predicted": predicted[own].tolist()}
    return forecasts
