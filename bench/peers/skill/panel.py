"""The panel that every peer learns from: two input blobs as arrays. Usage: panel.py FEATURES PRICES CUT DELAY FOLDER"""

import json
import sys
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np

# A next price after more calendar days gives no label, as in mucast.
MAX_GAP_DAYS = 10


@dataclass(frozen=True)
class Panel:
    """Rows ascend by date, then by ticker; each has a price and a value for every feature."""

    x: np.ndarray  # shape (rows, features)
    y: np.ndarray  # shape (rows): log-return from the price `delay` dates later to the next one, NaN without one
    ticker: np.ndarray  # shape (rows): position in `tickers`
    date: np.ndarray  # shape (rows): position in `dates`
    learn: np.ndarray  # shape (rows): whether y is known at the cut
    tickers: list[str]
    dates: list[str]
    delay: int

    @property
    def score(self) -> np.ndarray:
        """Shape (rows): the rows after the last training row."""
        return self.date > self.date[self.learn].max()


def labels_of(prices: dict, cut: str, delay: int) -> dict[str, dict[str, tuple[float, bool]]]:
    """By ticker and price date: the log-return from the price `delay` dates later to the next one, and whether it is known at the cut."""
    labels = {}
    for ticker, column in prices["prices"].items():
        dated = [(day, value) for day, value in zip(prices["dates"], column, strict=True) if value is not None]
        own = labels[ticker] = {day: (np.nan, False) for day, _ in dated}
        days = [date.fromisoformat(day) for day, _ in dated]
        for i in range(len(dated) - 1 - delay):
            steps = pairwise(days[i : i + delay + 2])
            if all((after - before).days <= MAX_GAP_DAYS for before, after in steps):
                (_, price), (known, later) = dated[i + delay : i + delay + 2]
                own[dated[i][0]] = (float(np.log(later / price)), known <= cut)
    return labels


def write_panel(feature_path: Path, price_path: Path, cut: str, delay: int, folder: Path) -> None:
    features = json.loads(feature_path.read_bytes())
    labels = labels_of(json.loads(price_path.read_bytes()), cut, delay)
    tickers = sorted(features["features"].keys() & labels.keys())
    parts = []
    for number, ticker in enumerate(tickers):
        columns = features["features"].pop(ticker)
        x = np.column_stack([np.array(columns[name], float) for name in sorted(columns)])
        own = [labels[ticker].get(day) for day in features["dates"]]
        rows = np.flatnonzero(np.isfinite(x).all(axis=1) & np.array([label is not None for label in own]))
        y, learn = np.array([own[row] for row in rows]).reshape(-1, 2).T
        parts.append((x[rows], y, np.full(len(rows), number), rows, learn == 1))
    x, y, ticker, day, learn = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((ticker, day))
    for name, values in {"x": x, "y": y, "ticker": ticker, "date": day, "learn": learn}.items():
        np.save(folder / f"{name}.npy", values[order])
    (folder / "names.json").write_text(json.dumps({"tickers": tickers, "dates": features["dates"], "delay": delay}))


def read_panel(folder: Path) -> Panel:
    arrays = {name: np.load(folder / f"{name}.npy") for name in ("x", "y", "ticker", "date", "learn")}
    return Panel(**arrays, **json.loads((folder / "names.json").read_text()))


if __name__ == "__main__":
    features, prices, cut, delay, folder = sys.argv[1:]
    write_panel(Path(features), Path(prices), cut, int(delay), Path(folder))
