"""Frames of a small output that was made by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pandas as pd
import pytest
from fakes import SUCCEEDED, FakeService, json_answer

from mucast_client import ForecastResult, UnexpectedAnswerError

Fake = Callable[..., FakeService]


def metrics(n: int) -> dict[str, Any]:
    return {"n": n, "rmse": 0.02, "hit_rate": None}


def table(n: int) -> dict[str, Any]:
    return {"pooled": metrics(n), "by_ticker": {"10": metrics(n - 1), "B": metrics(1)}, "cross_section": {"dates": 2}}


OUTPUT: dict[str, Any] = {
    "schema": "mucast.forecast/1",
    "window": {"as_of": "2024-01-05"},
    "mu": {"B": 0.002, "10": -0.001},
    "mu_dates": {"B": "2024-01-05", "10": "2024-01-04"},
    "forecasts": {
        "B": {
            "dates": ["2024-01-04", "2024-01-05"],
            "predicted": [0.1, 0.2],
            "lower": [-0.1, None],
            "upper": [0.3, 0.4],
            "realised": [0.0, None],
        },
    },
    "cross_validation": {
        "B": {
            "dates": ["2024-01-03"],
            "predicted": [0.3],
            "realised": [0.4],
            "folds": [{"n": 1}],
        },
        "10": {
            "dates": ["2024-01-01", "2024-01-02", "2024-01-03"],
            "predicted": [1.0, 2.0, 3.0],
            "realised": [4.0, 5.0, 6.0],
            "folds": [{"n": 2}, {"n": 1}],
        },
    },
    "metrics": {
        "score": table(2),
        "out_of_fold": table(4),
        "baselines": {"zero": {"score": table(2)}, "mean": {"score": table(2), "out_of_fold": table(4)}},
    },
    "verdict": {"title": "No evidence of skill"},
    "warnings": [],
    "failures": [{"ticker": "C", "code": "fit_failed", "message": "C: no rows"}],
}


@pytest.fixture
def result(fake: Fake) -> ForecastResult:
    service = fake(json_answer(SUCCEEDED), json_answer(OUTPUT))
    result = service.client.attach("one").result()
    assert isinstance(result, ForecastResult)
    assert result.failures[0]["ticker"] == "C"
    assert result.verdict is not None
    assert result.verdict["title"] == "No evidence of skill"
    assert result.forecasts.size > 0
    assert service.asked == ["GET /v1/operations/one", "GET /data/ml_engine_one.json"]
    return result


def test_mu_and_its_dates_keep_the_order_of_the_output(result: ForecastResult) -> None:
    assert result.mu.to_dict() == OUTPUT["mu"]
    assert list(result.mu.index) == ["B", "10"]
    assert (result.mu.name, result.mu.index.name) == ("mu", "ticker")
    current = result.mu[result.mu_dates == result.as_of]
    assert current.to_dict() == {"B": 0.002}


def test_forecasts_are_those_of_an_export(result: ForecastResult) -> None:
    day = pd.Timestamp
    expected = pd.DataFrame(
        [
            ("10", day("2024-01-01"), "out_of_fold", 1, 1.0, None, None, 4.0),
            ("10", day("2024-01-02"), "out_of_fold", 1, 2.0, None, None, 5.0),
            ("10", day("2024-01-03"), "out_of_fold", 2, 3.0, None, None, 6.0),
            # The last fold: folds test the last rows.
            ("B", day("2024-01-03"), "out_of_fold", 2, 0.3, None, None, 0.4),
            ("B", day("2024-01-04"), "score", None, 0.1, -0.1, 0.3, 0.0),
            ("B", day("2024-01-05"), "score", None, 0.2, None, 0.4, None),
        ],
        columns=["ticker", "date", "part", "fold", "predicted", "lower", "upper", "realised"],
    ).astype({"fold": "Int64", "lower": "float64", "upper": "float64"})
    pd.testing.assert_frame_equal(result.forecasts, expected, check_dtype=False)
    types = {name: str(dtype) for name, dtype in result.forecasts.dtypes.items()}
    assert (types["fold"], types["predicted"], types["date"][:10]) == ("Int64", "float64", "datetime64")


def test_metrics_are_beside_those_of_the_baselines(result: ForecastResult) -> None:
    frame = result.metrics
    assert list(frame.index) == [
        ("score", "model"),
        ("score", "zero"),
        ("score", "mean"),
        ("out_of_fold", "model"),
        ("out_of_fold", "mean"),
    ]
    assert frame[["n", "dates"]].to_numpy().tolist() == [[2, 2], [2, 2], [2, 2], [4, 2], [4, 2]]
    assert result.ticker_metrics.loc[("out_of_fold", "10"), "n"] == 3
    assert result.ticker_metrics.shape == (4, 3)


def test_a_job_without_tickers_has_empty_frames(fake: Fake) -> None:
    empty = {**OUTPUT, "mu": {}, "forecasts": {}, "mu_dates": {}}
    del empty["cross_validation"]
    service = fake(json_answer(SUCCEEDED), json_answer(empty))
    result = service.client.attach("one").result()
    assert isinstance(result, ForecastResult)
    assert result.mu.empty
    assert result.mu_dates.empty
    assert list(result.forecasts) == ["ticker", "date", "part", "fold", "predicted", "lower", "upper", "realised"]
    assert result.forecasts.empty


def test_a_document_of_another_schema_is_no_output(fake: Fake) -> None:
    service = fake(json_answer(SUCCEEDED), json_answer({**OUTPUT, "schema": "mucast.forecast/2"}))
    result = service.client.attach("one").result()
    assert isinstance(result, ForecastResult)
    with pytest.raises(UnexpectedAnswerError, match=r"mucast\.forecast/2"):
        _ = result.mu


def test_a_report_shows_in_a_notebook_without_access_to_it(fake: Fake) -> None:
    page = "<!doctype html><script>alert(\"hello\" + '&')</script>"
    html = {"content-type": "text/html; charset=utf-8"}
    service = fake(json_answer(SUCCEEDED), lambda _: httpx.Response(200, headers=html, content=iter([page.encode()])))
    result = service.client.attach("one").result()
    assert isinstance(result, ForecastResult)
    report = result.report()
    assert report.html == page
    shown = report._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts" ')
    assert 'srcdoc="&lt;!doctype html&gt;&lt;script&gt;alert(&quot;hello&quot; + &#x27;&amp;&#x27;)' in shown
    assert "<script" not in shown
    assert page not in repr(report)


def test_jobs_run_without_pandas() -> None:
    program = """
import sys
sys.modules.update({"pandas": None, "pyarrow": None})
from mucast_client.results import ForecastResult
from mucast_client.models import Operation
import mucast_client
result = ForecastResult(None, {})
result.output = {"mu": {}}
try:
    result.mu
except ImportError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "data frames need pandas: pip install 'mucast-client[pandas]'\n"
