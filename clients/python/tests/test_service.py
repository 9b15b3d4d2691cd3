"""Jobs of a real service: its address, a key and a Node are in MUCAST_TEST_SERVICE, …_KEY and …_NODE."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cutting_transport import CuttingTransport

from mucast_client import Client, ForecastResult, OperationFailedError, RequestRefusedError

pytestmark = pytest.mark.service
TINY = Path(__file__).parents[3] / "test/cases/tiny/data"
CONFIG: dict[str, object] = {
    "ML params": {"model": "ridge", "cv_test_size": 3, "n_splits": 5, "intervals": {"alpha": 0.2}}
}
KINDS: tuple[Literal["features", "prices", "output"], ...] = ("features", "prices", "output")
# As long as it takes on a busy machine.
TIMEOUT = 300.0


@pytest.fixture(scope="module")
def url() -> str:
    return os.environ["MUCAST_TEST_SERVICE"]


@pytest.fixture(scope="module")
def key() -> str:
    return os.environ["MUCAST_TEST_KEY"]


@pytest.fixture(scope="module")
def client(url: str, key: str) -> Iterator[Client]:
    with Client(url, key) as client:
        yield client


@pytest.fixture(scope="module")
def tiny(client: Client) -> ForecastResult:
    """The result for the example blobs, uploaded as they are."""
    return client.run_ml_job(
        features=TINY / "feature_engine_tiny.json",
        prices=TINY / "data_extractor_tiny.json",
        config=CONFIG,
        timeout=TIMEOUT,
        progress=False,
    )


def tiny_frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The example blobs as frames: long features, and a column of prices per ticker."""
    features = json.loads((TINY / "feature_engine_tiny.json").read_text())
    prices = json.loads((TINY / "data_extractor_tiny.json").read_text())
    columns = [
        pd.DataFrame(columns).assign(ticker=ticker, date=features["dates"])
        for ticker, columns in features["features"].items()
    ]
    wide = pd.DataFrame(prices["prices"], index=pd.to_datetime(prices["dates"]))
    return pd.concat(columns, ignore_index=True), wide


def test_lists_blobs_by_kind_and_newest_first(client: Client, tiny: ForecastResult) -> None:
    blobs = list(client.blobs())
    names = {kind: [blob["name"] for blob in client.blobs(kind=kind)] for kind in KINDS}
    assert tiny.output_url in [blob["url"] for blob in blobs]
    assert [blob["created_at"] for blob in blobs] == sorted((blob["created_at"] for blob in blobs), reverse=True)
    assert len(blobs) == sum(len(of_kind) for of_kind in names.values())
    assert all(name.startswith("feature_engine_") for name in names["features"])


class Job(TypedDict):
    features: pd.DataFrame
    prices: pd.DataFrame
    config: dict[str, object]
    start: str
    end: str
    learning_end: str


def job_of(features: pd.DataFrame, prices: pd.DataFrame) -> Job:
    """A job on frames, with the window of the example blobs."""
    blob = json.loads((TINY / "data_extractor_tiny.json").read_text())
    return {
        "features": features,
        "prices": prices,
        "config": CONFIG,
        "start": blob["start"],
        "end": blob["end"],
        "learning_end": blob["Learning_end"],
    }


def tiny_job() -> Job:
    return job_of(*tiny_frames())


def test_frames_give_the_same_numbers_as_the_blobs_that_they_are_made_of(client: Client, tiny: ForecastResult) -> None:
    features, wide = tiny_frames()
    long = wide.rename_axis("date").reset_index().melt("date", var_name="ticker", value_name="price")
    indexed = features.assign(date=pd.to_datetime(features["date"])).set_index(["date", "ticker"])
    categories = pl.from_pandas(features).with_columns(pl.col("ticker").cast(pl.Categorical))
    by_date = pl.from_pandas(wide.rename_axis("date").reset_index())
    tables = (categories, by_date), (pa.table(features), pa.table(long.dropna()))
    for frames in ((features, wide), (indexed, long.dropna()), *tables):
        result = client.run_ml_job(**job_of(*frames), timeout=TIMEOUT, progress=False)
        pd.testing.assert_series_equal(result.mu, tiny.mu, check_exact=True)
        pd.testing.assert_frame_equal(result.forecasts, tiny.forecasts, check_exact=True)
        pd.testing.assert_frame_equal(result.metrics, tiny.metrics, check_exact=True)


def test_a_preview_has_the_rows_of_the_job_and_its_warnings(client: Client, tiny: ForecastResult) -> None:
    features, prices = tiny_frames()
    known = [operation["id"] for operation in client.operations()]
    preview = client.validate(**tiny_job())
    assert [(row["ticker"], row["mu"]) for row in preview["tickers"]] == [(name, True) for name in tiny.mu.index]
    fit_rows = {name: fit["fit_rows"] for name, fit in tiny.output["fits"].items()}
    assert {row["ticker"]: row["fit_rows"] for row in preview["tickers"]} == fit_rows
    assert preview["window"]["as_of"] == tiny.output["window"]["as_of"]
    with pytest.raises(RequestRefusedError) as refused:
        client.validate(features=features, prices=prices, config={"ML params": {"model": "rigde"}})
    assert refused.value.code == "unknown_model"
    assert [operation["id"] for operation in client.operations()] == known


def test_prepared_inputs_have_the_features_of_a_frame(client: Client) -> None:
    features, wide = tiny_frames()
    own = features.rename(columns={name: f"own_{name}" for name in features.columns.difference(["ticker", "date"])})
    made = client.prepare(wide, features=own, only_features=True, format="parquet")
    assert made["feature_url"].endswith(".parquet")
    tables = pl.from_pandas(wide.rename_axis("date").reset_index()), pa.table(own)
    again = client.prepare(tables[0], features=tables[1], only_features=True, format="parquet")
    assert again == {**made, "written": False}
    result = client.run_ml_job(
        features=made["feature_url"],
        prices=made["data_extractor_url"],
        config=CONFIG,
        timeout=TIMEOUT,
        progress=False,
    )
    assert list(result.mu.index) == ["ALFA", "BETA", "GAMA"]
    assert result.output["fits"]["ALFA"]["features"] == len(own.columns) - 2


def test_the_result_has_what_the_job_says_about_its_forecasts(client: Client, tiny: ForecastResult) -> None:
    assert list(tiny.mu.index) == ["ALFA", "BETA", "GAMA"]
    assert tiny.output["id"] == tiny.id
    assert {warning["code"] for warning in tiny.warnings} >= {"no_skill"}
    assert (tiny.mu_dates == tiny.as_of).all()
    last = tiny.forecasts.query("part == 'score'").groupby("ticker").last()
    np.testing.assert_array_equal(last["predicted"], tiny.mu)
    assert "ridge, 3 tickers" in repr(tiny)
    report = tiny.report()
    assert report.html.startswith("<!doctype html>")
    assert "ridge" in report.html


def test_the_forecasts_are_those_of_an_export(tiny: ForecastResult, tmp_path: Path) -> None:
    (tmp_path / "ml_engine_1.json").write_text(json.dumps(tiny.output))
    program = [os.environ["MUCAST_TEST_NODE"], str(Path(__file__).parents[3] / "src/cli/main.ts")]
    words = ["export", "--output", f"{tmp_path}/ml_engine_1.json", "--out", f"{tmp_path}/forecasts.parquet"]
    subprocess.run([*program, *words], check=True, capture_output=True)
    exported = pd.read_parquet(tmp_path / "forecasts.parquet")
    exported["date"] = pd.to_datetime(exported["date"])
    assert len(exported) > 0
    pd.testing.assert_frame_equal(tiny.forecasts, exported, check_dtype=False, check_exact=True)


def test_a_wrong_key_is_unauthorized_and_no_log_has_the_key(
    url: str, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for wrong in (None, key[:-1] + ("A" if key[-1] != "A" else "E")):
        with Client(url, wrong) as client, pytest.raises(RequestRefusedError) as caught:
            next(client.operations())
        assert (caught.value.code, caught.value.status) == ("unauthorized", 401)
    with Client(url, key) as client:
        list(client.operations())
    assert "/v1/operations" in caplog.text
    assert key[-20:-1] not in caplog.text


def test_an_audit_and_a_replay_have_verdicts(client: Client, tiny: ForecastResult) -> None:
    replay = client.replay(tiny, timeout=TIMEOUT, progress=False)
    assert replay.verdict == "identical"
    audit = client.audit(
        **tiny_job(),
        options={"checks": ["foresight"]},
        timeout=TIMEOUT,
        progress=False,
    )
    assert (audit.verdict, audit.findings) == ("clean", [])
    assert repr(client.attach(replay.id).wait()) == f"<ReplayResult {replay.id}: identical>"


def test_an_idempotency_key_gives_the_same_job_to_another_client(url: str, key: str, client: Client) -> None:
    features, prices = tiny_frames()
    job = client.submit("run_ml_job", **tiny_job(), idempotency_key="nightly")
    with Client(url, key) as other:
        same = other.submit("run_ml_job", **tiny_job(), idempotency_key="nightly")
        assert same.id == job.id
        with pytest.raises(RequestRefusedError) as caught:
            other.submit(
                "run_ml_job",
                features=features,
                prices=prices,
                config={"ML params": {"model": "lasso"}},
                idempotency_key="nightly",
            )
        assert (caught.value.code, caught.value.status) == ("idempotency_conflict", 422)
        same.wait(timeout=TIMEOUT, progress=False)


def test_errors_carry_the_code_and_the_advice(client: Client) -> None:
    features, prices = tiny_frames()
    with pytest.raises(RequestRefusedError) as refused:
        client.submit("run_ml_job", features=features, prices=prices, config={"ML params": {"n_split": 5}})
    assert refused.value.code == "invalid_request"
    assert "config.ML params.n_split" in [fault["path"] for fault in refused.value.faults]
    assert refused.value.advice in str(refused.value)
    broken = features.rename(columns={"date": "day"})
    with pytest.raises(OperationFailedError) as failed:
        client.run_ml_job(**job_of(broken, prices), timeout=TIMEOUT, progress=False)
    assert failed.value.code == "invalid_data"
    assert failed.value.operation["status"] == "Failed"


def test_each_event_comes_once_although_each_connection_breaks_after_one(
    url: str, key: str, client: Client, pauses: list[float]
) -> None:
    cuts = 0

    def cut_in(status: int, part: bytes) -> int | None:
        """After the first event of the part, and a piece of the second if it is there."""
        nonlocal cuts
        event = re.search(rb"^id: .*?\n\n", part, re.MULTILINE | re.DOTALL)
        cuts += event is not None
        return None if event is None else event.end() + 20

    with Client(url, key, transport=CuttingTransport(cut_in)) as cut:
        job = cut.submit("run_ml_job", **tiny_job())
        followed = [event["seq"] for event in job.events()]
        # Once the job has ended, the service sends all events in one part.
        again = [event["seq"] for event in job.events()]
    expected = [event["seq"] for event in client.attach(job.id).events()]
    assert followed == again == expected == list(range(1, len(expected) + 1))
    assert cuts > 2


def test_a_job_whose_answer_is_lost_runs_once(url: str, key: str, client: Client, pauses: list[float]) -> None:
    lost = 0

    def cut_in(status: int, part: bytes) -> int | None:
        """In the first two answers to the submission, the first one without a byte."""
        nonlocal lost
        if status != 202 or lost == 2:
            return None
        lost += 1
        return 100 * (lost - 1)

    known = {operation["id"] for operation in client.operations()}
    with Client(url, key, transport=CuttingTransport(cut_in)) as cut:
        result = cut.run_ml_job(**tiny_job(), timeout=TIMEOUT, progress=False)
    assert lost == 2
    assert {operation["id"] for operation in client.operations()} - known == {result.id}


def test_an_output_that_breaks_off_is_read_again(url: str, key: str, tiny: ForecastResult, pauses: list[float]) -> None:
    breaks = 0

    def cut_in(status: int, part: bytes) -> int | None:
        nonlocal breaks
        if breaks == 2 or b"mucast.forecast/1" not in part:
            return None
        breaks += 1
        return len(part) - 10

    with Client(url, key, transport=CuttingTransport(cut_in)) as cut:
        result = cut.attach(tiny.id).wait()
        assert isinstance(result, ForecastResult)
        assert result.output == tiny.output
    assert breaks == 2
