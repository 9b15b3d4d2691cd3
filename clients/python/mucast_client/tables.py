"""Data frames made from an output. They need pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .models import BaselineTables, MetricsTable, OutputBlob, OutputBlobMetrics

try:
    import pandas as pd
except ImportError as error:
    raise ImportError("data frames need pandas: pip install 'mucast-client[pandas]'") from error

COLUMNS = ["ticker", "date", "part", "fold", "predicted", "lower", "upper", "realised"]
TYPES = {"fold": "Int64", "predicted": "float64", "lower": "float64", "upper": "float64", "realised": "float64"}
PARTS = ("score", "out_of_fold")


def mu_series(output: OutputBlob) -> pd.Series[float]:
    return pd.Series(output["mu"], name="mu", dtype="float64").rename_axis("ticker")


def mu_dates_series(output: OutputBlob) -> pd.Series[pd.Timestamp]:
    """Older outputs have no date for each mu; all of them then have the date `as_of`."""
    as_of = output["window"]["as_of"]
    dates = output.get("mu_dates", {})
    tickers = list(output["mu"])
    days = pd.to_datetime([dates.get(ticker, as_of) for ticker in tickers])
    return pd.Series(days, index=pd.Index(tickers, name="ticker"), name="mu_date")


def forecasts_frame(output: OutputBlob) -> pd.DataFrame:
    """A row for each forecast, as `mucast export` writes them.

    Tickers ascend by code point, and the out-of-fold rows of a ticker come before its score rows.
    """
    tested, scored = output.get("cross_validation", {}), output["forecasts"]
    # Folds test the last rows, so a ticker with fewer of them lacks the first numbers.
    most_folds = max((len(rows["folds"]) for rows in tested.values()), default=0)
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for ticker in sorted({*tested, *scored}):
        if ticker in tested:
            rows = tested[ticker]
            first = most_folds - len(rows["folds"]) + 1
            folds = [first + k for k, fold in enumerate(rows["folds"]) for _ in range(fold["n"])]
            add_rows(columns, ticker, "out_of_fold", rows["dates"], rows["predicted"], rows["realised"], fold=folds)
        if ticker in scored:
            score = scored[ticker]
            ends = {"lower": score["lower"], "upper": score["upper"]}
            add_rows(columns, ticker, "score", score["dates"], score["predicted"], score["realised"], **ends)
    columns["date"] = list(pd.to_datetime(columns["date"]))
    return pd.DataFrame(columns).astype(TYPES)


def add_rows(
    columns: dict[str, list[Any]],
    ticker: str,
    part: str,
    dates: Sequence[str],
    predicted: Sequence[float],
    realised: Sequence[float | None],
    **others: Sequence[float | None],
) -> None:
    """Appends one row for each date; a column without values is empty there."""
    n = len(dates)
    whole: dict[str, Sequence[Any]] = {
        "ticker": [ticker] * n,
        "date": dates,
        "part": [part] * n,
        "predicted": predicted,
        "realised": realised,
        **others,
    }
    for name, column in columns.items():
        column.extend(whole.get(name, [None] * n))


def metrics_frame(output: OutputBlob) -> pd.DataFrame:
    """A row for the forecasts, the zero forecast and the historical mean of each part, over all tickers together."""
    baselines = output["metrics"]["baselines"]
    forecasts = {
        "model": tables_of(output["metrics"]),
        "zero": tables_of(baselines["zero"]),
        "mean": tables_of(baselines["mean"]),
    }
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for part in PARTS:
        for forecast, tables in forecasts.items():
            if part in tables:
                rows[part, forecast] = {**tables[part]["pooled"], **tables[part]["cross_section"]}
    return keyed_frame(rows, ["part", "forecast"])


def ticker_metrics_frame(output: OutputBlob) -> pd.DataFrame:
    """A row for each part and ticker, without baselines."""
    rows = {
        (part, ticker): dict(row)
        for part, table in tables_of(output["metrics"]).items()
        for ticker, row in table["by_ticker"].items()
    }
    return keyed_frame(rows, ["part", "ticker"])


def tables_of(metrics: OutputBlobMetrics | BaselineTables) -> dict[str, MetricsTable]:
    tables = {"score": metrics["score"]}
    if "out_of_fold" in metrics:
        tables["out_of_fold"] = metrics["out_of_fold"]
    return tables


def keyed_frame(rows: dict[tuple[str, str], dict[str, Any]], names: list[str]) -> pd.DataFrame:
    index = pd.MultiIndex.from_tuples(list(rows), names=names)
    return pd.DataFrame(list(rows.values()), index=index)
