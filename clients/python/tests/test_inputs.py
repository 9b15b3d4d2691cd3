"""What becomes the payload of a job."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fakes import JOB, URL, FakeService, json_answer, operation

from mucast_client.inputs import Table

Fake = Callable[..., FakeService]
DATES = pd.date_range("2024-01-02", periods=3)
FEATURES = pd.DataFrame({"ticker": ["A", "A", "B"], "date": DATES, "mom_5": [0.1, None, 0.3]})
PRICES = pd.DataFrame({"A": [1.0, 2.0, 3.0], "B": [4.0, None, 6.0]}, index=DATES)
CONFIG = {"ML params": {"model": "ridge"}}


def service(request: httpx.Request) -> httpx.Response:
    """Accepts uploads and submissions."""
    answer = {"url": f"https://elsewhere.example{request.url.path}"} if request.method == "PUT" else operation()
    return json_answer(answer)(request)


def payload_of(fake_service: FakeService) -> dict[str, object]:
    payload: dict[str, object] = json.loads(fake_service.requests[-1].content)
    return payload


def test_uploads_frames_as_parquet_and_submits_the_urls_of_the_answers(fake: Fake) -> None:
    made = fake(service)
    made.client.submit("run_ml_job", features=FEATURES, prices=PRICES, config=CONFIG, learning_end="2024-01-03")
    features, prices, job = made.requests
    assert features.url.path.startswith("/data/feature_engine_")
    assert prices.url.path.startswith("/data/data_extractor_")
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(features.content)), FEATURES)
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(prices.content)), PRICES, check_freq=False)
    assert json.loads(job.content) == {
        "feature_url": f"https://elsewhere.example{features.url.path}",
        "data_extractor_url": f"https://elsewhere.example{prices.url.path}",
        "learning_end": "2024-01-03",
        "config": CONFIG,
    }
    assert features.headers["content-length"] == str(len(features.content))


def test_tables_of_polars_and_pyarrow_are_uploaded_like_frames(fake: Fake) -> None:
    by_date = PRICES.reset_index(names="date")
    categories = pl.from_pandas(FEATURES).with_columns(pl.col("ticker").cast(pl.Categorical))
    for features, prices in [(categories, pl.from_pandas(by_date)), (pa.table(FEATURES), pa.table(by_date))]:
        made = fake(service)
        made.client.submit("run_ml_job", features=features, prices=prices, config=CONFIG)
        uploads = [pd.read_parquet(io.BytesIO(request.content)) for request in made.requests[:2]]
        for upload, frame in zip(uploads, (FEATURES, by_date), strict=True):
            pd.testing.assert_frame_equal(upload.astype(frame.dtypes), frame)
    with pytest.raises(TypeError, match="LazyFrame"):
        made.client.submit("run_ml_job", features=categories.lazy(), prices="u", config=CONFIG)  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("table", [pl.from_pandas(PRICES.reset_index(names="date")), pa.table(PRICES)])
def test_tables_to_prepare_are_sent_as_parquet(fake: Fake, table: Table) -> None:
    made = fake(json_answer({"feature_url": "f", "data_extractor_url": "d"}))
    made.client.prepare(table)
    made.client.prepare(PRICES, features=table)
    assert pd.read_parquet(io.BytesIO(made.requests[0].content))["A"].tolist() == [1.0, 2.0, 3.0]
    assert b"\r\n\r\nPAR1" in made.requests[1].content


def test_uploads_the_same_content_once_and_always_under_the_same_name(fake: Fake) -> None:
    first, second = fake(service), fake(service)
    for made in (first, first, second):
        made.client.submit("run_ml_job", features=FEATURES.copy(), prices=PRICES.copy(), config=CONFIG)
    assert [request.method for request in first.requests] == ["PUT", "PUT", "POST", "POST"]
    assert first.asked[:2] == second.asked[:2]
    changed = FEATURES.assign(mom_5=0.0)
    first.client.submit("run_ml_job", features=changed, prices=PRICES, config=CONFIG)
    assert [request.method for request in first.requests[4:]] == ["PUT", "POST"]
    assert first.asked[4] != first.asked[0]


def test_uploads_a_removed_blob_again(fake: Fake) -> None:
    made = fake(service)
    made.client.submit("run_ml_job", features=FEATURES, prices=PRICES, config=CONFIG)
    made.client.delete_blob(made.requests[0].url.path.removeprefix("/data/"))
    made.client.submit("run_ml_job", features=FEATURES, prices=PRICES, config=CONFIG)
    assert [request.method for request in made.requests] == ["PUT", "PUT", "POST", "DELETE", "PUT", "POST"]


def test_uploads_files_unchanged_and_passes_urls_on(fake: Fake, tmp_path: Path) -> None:
    path = tmp_path / "features.json"
    path.write_bytes(b'{ "A": [] }\n')
    made = fake(service)
    made.client.submit("run_ml_job", features=path, prices=f"{URL}/data/d.json", config=CONFIG)
    upload, job = made.requests
    assert upload.content == path.read_bytes()
    assert upload.url.path.endswith(".json")
    assert upload.headers["content-length"] == "12"
    assert json.loads(job.content)["data_extractor_url"] == f"{URL}/data/d.json"


def test_refuses_other_inputs_before_it_sends_anything(fake: Fake, tmp_path: Path) -> None:
    made = fake(service)
    with pytest.raises(ValueError, match=r"prices\.csv must be a \.json or a \.parquet file"):
        made.client.submit("run_ml_job", features=tmp_path / "prices.csv", prices="u", config=CONFIG)
    with pytest.raises(FileNotFoundError):
        made.client.submit("run_ml_job", features=tmp_path / "none.parquet", prices="u", config=CONFIG)
    with pytest.raises(TypeError, match="not <class 'dict'>"):
        made.client.submit("run_ml_job", features={}, prices="u", config=CONFIG)  # type: ignore[arg-type]  # what is tested
    for text in ("data/features.parquet", "features.csv"):
        with pytest.raises(ValueError, match=rf"'{text}' is not a URL; for a file, pass pathlib\.Path\('{text}'\)"):
            made.client.submit("run_ml_job", features=text, prices="u", config=CONFIG)
    with pytest.raises(ValueError, match=r"config is not JSON: .*; for a file, pass its text"):
        made.client.submit("run_ml_job", features="u", prices="u", config="config.json")
    with pytest.raises(TypeError, match=r"prices must be a table .*, not <class 'str'>"):
        made.client.prepare("prices.csv")  # type: ignore[arg-type]  # what is tested
    assert made.requests == []


def test_sends_the_text_of_a_config_unchanged(fake: Fake) -> None:
    made = fake(service)
    text = '{"ML params": {"model": "ridge", "model_params": {"alpha": 1.0, "seed": 12345678901234567890}}}'
    made.client.submit("run_ml_job", **{**JOB, "config": text})
    assert text.encode() in made.requests[-1].content
    made.client.submit("run_ml_job", **{**JOB, "config": json.loads(text)})
    assert b'"alpha": 1.0, "seed": 12345678901234567890' in made.requests[-1].content


@pytest.mark.parametrize(
    "day",
    [
        "2024-01-03",
        datetime.date(2024, 1, 3),
        datetime.datetime(2024, 1, 3, tzinfo=datetime.UTC),
        pd.Timestamp("2024-01-03"),
    ],
)
def test_dates_of_the_window_have_any_type(fake: Fake, day: datetime.date | str) -> None:
    made = fake(service)
    made.client.submit("run_dl_job", **JOB, start=day, end=day, learning_end=day, portable=True, tags=("a", "b"))
    payload = payload_of(made)
    assert [payload[name] for name in ("start", "end", "learning_end")] == ["2024-01-03"] * 3
    assert payload["portable"] is True
    assert payload["tags"] == ["a", "b"]


def test_an_audit_has_the_members_of_a_job_and_its_own(fake: Fake) -> None:
    made = fake(service)
    made.client.submit_audit(**JOB, options={"truncations": 3, "quick": True})
    assert made.asked == ["POST /v1/audit"]
    assert payload_of(made) == {
        "feature_url": JOB["features"],
        "data_extractor_url": JOB["prices"],
        "config": CONFIG,
        "truncations": 3,
        "quick": True,
    }


def test_features_to_prepare_are_sent_in_a_form(fake: Fake, tmp_path: Path) -> None:
    made = fake(json_answer({"feature_url": "f", "data_extractor_url": "d"}))
    (tmp_path / "own.csv").write_text("date,ticker,f\n2024-01-02,A,1\n")
    made.client.prepare(PRICES, features=tmp_path / "own.csv", only_features=True, format="parquet")
    assert made.asked == ["POST /v1/prepare?format=parquet&only_features=true"]
    request = made.requests[0]
    boundary = request.headers["content-type"].removeprefix("multipart/form-data; boundary=")
    before, prices, features, after = request.content.split(f"--{boundary}".encode())
    assert (before, after) == (b"", b"--\r\n")
    assert b'name="prices"' in prices and prices.split(b"\r\n\r\n")[1].startswith(b",A,B\n")
    assert b'name="features"' in features
    assert features.split(b"\r\n\r\n")[1] == b"date,ticker,f\n2024-01-02,A,1\n\r\n"
    with pytest.raises(TypeError, match=r"features must be a table .*, not <class 'str'>"):
        made.client.prepare(PRICES, features="own.csv")  # type: ignore[arg-type]  # what is tested


def test_prices_to_prepare_are_sent_as_csv(fake: Fake) -> None:
    made = fake(json_answer({"feature_url": "f", "data_extractor_url": "d"}))
    made.client.prepare(PRICES, learning_end=DATES[1], tickers=["A", "B&C"])
    assert made.asked == ["POST /v1/prepare?learning_end=2024-01-03&tickers=A&tickers=B%26C"]
    assert made.requests[0].content.decode().splitlines() == [
        ",A,B",
        "2024-01-02,1.0,4.0",
        "2024-01-03,2.0,",
        "2024-01-04,3.0,6.0",
    ]
