"""The client of a mucast service."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast
from urllib.parse import quote

from .answers import json_object
from .connection import LONG_READ_SECONDS, Call, Connection
from .deadline import Deadline
from .inputs import Day, Input, Table, Uploads, day_text, prepare_body
from .job import Job, Status, fetch_operation
from .models import JobPreview, Operation, PreparedBlobs, StoredBlob
from .results import AuditResult, ForecastResult, ReplayResult, open_result

if TYPE_CHECKING:
    import httpx

Config: TypeAlias = Mapping[str, object] | str
"""A config as docs/config.md describes it, or its JSON text, which is sent unchanged."""

AnyJob: TypeAlias = "Job[ForecastResult | AuditResult | ReplayResult]"
# Features, prices, config, start, end and learning_end.
Inputs: TypeAlias = "tuple[Input, Input, Config, Day | None, Day | None, Day | None]"
Result = TypeVar("Result")


class Client:
    """A mucast service, with the credentials of one caller. Safe to share between threads.

    Methods raise ApiError with the service's problem if it refuses, and ConnectionLostError if there is no answer after
    several attempts. A lost answer never causes a second job: each submission has a key that the service remembers.
    """

    def __init__(self, url: str, key: str | None = None, *, transport: httpx.BaseTransport | None = None) -> None:
        """
        `url`: such as https://mucast.example.com; http only for a service on this machine.
        `key`: an API key that `mucast keys create` printed, or an OIDC access token.
        `transport`: instead of httpx's own, such as one with a proxy.
        """
        self._connection = Connection(url, key, transport)
        self._uploads = Uploads(self._connection)

    def __repr__(self) -> str:
        return f"Client({self._connection.url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections. Jobs continue."""
        self._connection.close()

    def run_ml_job(
        self,
        *,
        features: Input,
        prices: Input,
        config: Config,
        start: Day | None = None,
        end: Day | None = None,
        learning_end: Day | None = None,
        portable: bool = False,
        tags: Sequence[str] | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        progress: bool = True,
    ) -> ForecastResult:
        """Trains regressors, one per ticker or one for all, and waits for the forecasts.

        `features`: columns ticker, date and one per feature. `prices`: columns ticker, date and price, or an index of
        dates and a column per ticker. Each is a data frame, the path of a file, or the URL of a blob.
        `start`, `end`, `learning_end`: bounds of the window that the prices do not name themselves.
        `portable`: whether every x86-64-v3 processor must give the same bytes.
        `tags`: labels to find the job by in `operations` and the console, also recorded in its output.
        `idempotency_key`, `timeout`, `progress`: as for `submit` and `Job.wait`, which this method combines;
        `timeout` includes the uploads.
        """
        inputs = (features, prices, config, start, end, learning_end)
        return self._run(
            lambda: self._submit_job("run_ml_job", inputs, portable, tags, idempotency_key), timeout, progress
        )

    def run_dl_job(
        self,
        *,
        features: Input,
        prices: Input,
        config: Config,
        start: Day | None = None,
        end: Day | None = None,
        learning_end: Day | None = None,
        portable: bool = False,
        tags: Sequence[str] | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        progress: bool = True,
    ) -> ForecastResult:
        """Trains neural networks, one per ticker or one for all; otherwise like `run_ml_job`."""
        inputs = (features, prices, config, start, end, learning_end)
        return self._run(
            lambda: self._submit_job("run_dl_job", inputs, portable, tags, idempotency_key), timeout, progress
        )

    def submit(
        self,
        operation: Literal["run_ml_job", "run_dl_job"],
        *,
        features: Input,
        prices: Input,
        config: Config,
        start: Day | None = None,
        end: Day | None = None,
        learning_end: Day | None = None,
        portable: bool = False,
        tags: Sequence[str] | None = None,
        idempotency_key: str | None = None,
    ) -> Job[ForecastResult]:
        """Uploads the inputs, submits a job and returns it without waiting.

        `idempotency_key`: by default a new one for each call. With your own, the same key and the same inputs give the
        same job, also from another process; other inputs give the error idempotency_conflict.
        """
        inputs = (features, prices, config, start, end, learning_end)
        return self._submit_job(operation, inputs, portable, tags, idempotency_key)

    def validate(
        self,
        *,
        features: Input,
        prices: Input,
        config: Config,
        start: Day | None = None,
        end: Day | None = None,
        learning_end: Day | None = None,
        operation: Literal["run_ml_job", "run_dl_job"] | None = None,
    ) -> JobPreview:
        """Uploads the inputs and says what a job would make of them, without running it.

        `operation`: required only if the config has the sections of both jobs.
        """
        inputs = (features, prices, config, start, end, learning_end)
        call = Call(
            "POST",
            "/v1/validate",
            headers={"content-type": "application/json"},
            body=payload_text({**self._inputs(inputs), "operation": operation}).encode(),
            read_seconds=LONG_READ_SECONDS,
        )
        return cast("JobPreview", json_object(self._connection.send(call), "tickers"))

    def submit_audit(
        self,
        *,
        features: Input,
        prices: Input,
        config: Config,
        start: Day | None = None,
        end: Day | None = None,
        learning_end: Day | None = None,
        options: Mapping[str, object] | None = None,
        idempotency_key: str | None = None,
    ) -> Job[AuditResult]:
        """Submits an audit, which checks the inputs of a job for look-ahead; otherwise like `submit`.

        `options`: further members of the payload, such as {"truncations": 3, "quick": True}; docs/audit.md of mucast
        lists them.
        """
        inputs = (features, prices, config, start, end, learning_end)
        return self._submit_audit(inputs, options, idempotency_key)

    def audit(
        self,
        *,
        features: Input,
        prices: Input,
        config: Config,
        start: Day | None = None,
        end: Day | None = None,
        learning_end: Day | None = None,
        options: Mapping[str, object] | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        progress: bool = True,
    ) -> AuditResult:
        """Checks the inputs of a job for look-ahead and waits for the findings. Takes what `submit_audit` takes."""
        inputs = (features, prices, config, start, end, learning_end)
        return self._run(lambda: self._submit_audit(inputs, options, idempotency_key), timeout, progress)

    def replay(
        self,
        result: ForecastResult | str,
        *,
        portable: bool | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        progress: bool = True,
    ) -> ReplayResult:
        """Runs the job of an output again, compares the bytes, and waits for the verdict.

        `result`: of a job, or the URL of its output. `portable`: by default as the output records it.
        """
        output_url = result if isinstance(result, str) else result.output_url
        payload = {"output_url": output_url, "portable": portable}
        return self._run(lambda: self._submit("replay", payload, idempotency_key, ReplayResult), timeout, progress)

    def attach(self, operation_id: str) -> AnyJob:
        """A job, an audit or a replay that was submitted before, here or elsewhere."""
        return Job(self._connection, fetch_operation(self._connection, operation_id), open_result)

    def operations(
        self, *, status: Status | None = None, operation: str | None = None, tags: Sequence[str] | None = None
    ) -> Iterator[Operation]:
        """The caller's operations, newest first, fetched page by page.

        `tags`: only operations that have all of these.
        """
        query = {"status": status, "operation": operation, "tag": tags}
        return cast("Iterator[Operation]", self._pages("/v1/operations", "operations", query))

    def prepare(
        self,
        prices: Table | os.PathLike[str],
        *,
        id: str | None = None,
        start: Day | None = None,
        end: Day | None = None,
        learning_end: Day | None = None,
        tickers: Sequence[str] | None = None,
        ticker: str | None = None,
        time_zone: str | None = None,
        date_format: str | None = None,
        features: Table | os.PathLike[str] | None = None,
        only_features: bool = False,
        format: Literal["json", "parquet"] | None = None,
    ) -> PreparedBlobs:
        """Makes both inputs of a job from prices, with the features that docs/prepare.md of mucast describes.

        `prices`: the `pathlib.Path` of a CSV or Parquet table, or a data frame with an index of dates and a column per
        ticker, or with the fields of one `ticker`. `features`: your own, as such a file or a frame with the columns or
        index levels `date` and `ticker`; with `only_features`, without the others. `format`: of both. `time_zone`: such
        as `Europe/Berlin`. `date_format`: `DD/MM/YYYY` or `MM/DD/YYYY`. The answer has both URLs for a job.
        """
        bounds = {"start": day_text(start), "end": day_text(end), "learning_end": day_text(learning_end)}
        body, content_type = prepare_body(prices, features)
        call = Call(
            "POST",
            "/v1/prepare",
            query={
                **{"id": id, **bounds, "tickers": tickers, "ticker": ticker, "format": format},
                **{"time_zone": time_zone, "date_format": date_format, "only_features": only_features or None},
            },
            headers={"content-type": content_type},
            body=body,
            read_seconds=LONG_READ_SECONDS,
        )
        return cast("PreparedBlobs", json_object(self._connection.send(call), "feature_url"))

    def blobs(self, *, kind: Literal["features", "prices", "output"] | None = None) -> Iterator[StoredBlob]:
        """The caller's blobs, newest first, fetched page by page: stored inputs and the outputs of operations."""
        return cast("Iterator[StoredBlob]", self._pages("/v1/data", "blobs", {"kind": kind}))

    def delete_blob(self, name: str) -> None:
        """Removes an input or an output, so that its bytes no longer count against the caller's quota."""
        self._connection.send(Call("DELETE", f"/data/{quote(name, safe='')}"))
        self._uploads.forget(name)

    def _inputs(self, inputs: Inputs) -> dict[str, Any]:
        features, prices, config, *bounds = inputs
        # Before the uploads, so that a mistake is found first.
        config_text = json_text(config)
        return {
            "feature_url": self._uploads.url_of("feature_engine", features),
            "data_extractor_url": self._uploads.url_of("data_extractor", prices),
            **dict(zip(("start", "end", "learning_end"), map(day_text, bounds), strict=True)),
            "config": RawJson(config_text),
        }

    def _submit_job(
        self, operation: str, inputs: Inputs, portable: bool, tags: Sequence[str] | None, idempotency_key: str | None
    ) -> Job[ForecastResult]:
        labels = None if tags is None else list(tags)
        payload = {**self._inputs(inputs), "portable": portable or None, "tags": labels}
        return self._submit(operation, payload, idempotency_key, ForecastResult)

    def _submit_audit(
        self, inputs: Inputs, options: Mapping[str, object] | None, idempotency_key: str | None
    ) -> Job[AuditResult]:
        return self._submit("audit", {**self._inputs(inputs), **(options or {})}, idempotency_key, AuditResult)

    def _submit(
        self,
        operation: str,
        payload: Mapping[str, object],
        idempotency_key: str | None,
        open_result: Callable[[Connection, Operation], Result],
    ) -> Job[Result]:
        key = uuid.uuid4().hex if idempotency_key is None else idempotency_key
        headers = {"content-type": "application/json", "idempotency-key": key}
        body = payload_text(payload).encode()
        answer = self._connection.send(Call("POST", f"/v1/{operation}", headers=headers, body=body))
        return Job(self._connection, cast("Operation", json_object(answer, "id")), open_result)

    def _run(self, submit: Callable[[], Job[Result]], timeout: float | None, progress: bool) -> Result:
        deadline = Deadline(timeout)

        def work() -> Result:
            job = submit()
            deadline.operation_id = job.id
            return job.wait(progress=progress)

        return deadline.run(work)

    def _pages(self, path: str, member: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        while True:
            call = Call("GET", path, query={**query, "limit": 100, "cursor": cursor})
            page = json_object(self._connection.send(call), member)
            yield from page[member]
            cursor = page["next_cursor"]
            if cursor is None:
                return


class RawJson(str):
    """JSON text that is sent unchanged."""

    __slots__ = ()


def json_text(config: Config) -> str:
    """Raises ValueError if a text is not JSON, and for NaN and infinities, which JSON does not have."""
    if not isinstance(config, str):
        return json.dumps(config, allow_nan=False)
    try:
        json.loads(config)
    except json.JSONDecodeError as error:
        hint = "; for a file, pass its text: pathlib.Path(...).read_text()" if config.endswith(".json") else ""
        raise ValueError(f"config is not JSON: {error}{hint}") from error
    return config


def payload_text(payload: Mapping[str, object]) -> str:
    """A JSON object without the members that are None."""
    members = (
        f"{json.dumps(name)}: {value if isinstance(value, RawJson) else json.dumps(value, allow_nan=False)}"
        for name, value in payload.items()
        if value is not None
    )
    return f"{{{', '.join(members)}}}"
