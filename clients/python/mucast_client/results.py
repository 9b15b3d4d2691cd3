"""Results of operations that have succeeded."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from .answers import html_text, json_object, unexpected
from .connection import LONG_READ_SECONDS, Call, Connection
from .errors import MucastError
from .events import operation_path
from .models import (
    AuditBlob,
    Failure,
    Finding,
    Operation,
    OutputBlob,
    ReplayBlob,
    ResultRecord,
    RunSummary,
    Verdict,
    VerdictView,
    Warning,
)
from .report import Report

if TYPE_CHECKING:
    import pandas as pd

OUTPUT_SCHEMA = "mucast.forecast/1"


class OperationResult:
    """An operation that has succeeded, and its result record."""

    def __init__(self, connection: Connection, operation: Operation) -> None:
        self._connection = connection
        self.operation = operation

    @property
    def id(self) -> str:
        return self.operation["id"]

    @property
    def record(self) -> ResultRecord:
        record = self.operation["result"]
        if record is None:
            raise MucastError(f"operation {self.id} has left no output")
        return record

    @property
    def output_url(self) -> str:
        """URL of the output; for a job, the portfolio optimizer's `input_url`."""
        return self.record["output_url"]


class ForecastResult(OperationResult):
    """The forecasts of a job, and the evidence on them. The output is read once, when it is first needed."""

    def __repr__(self) -> str:
        summary = self.summary
        if summary is None:
            return f"<ForecastResult {self.id}>"
        verdict = summary["verdict"]
        title = "" if verdict is None else f": {verdict['title']}"
        return f"<ForecastResult {self.id}: {summary['model']}, {summary['tickers']} tickers{title}>"

    @cached_property
    def output(self) -> OutputBlob:
        """The whole output, as docs/output.md of mucast describes it."""
        path = f"/data/{quote(self.record['output_name'], safe='')}"
        answer = self._connection.send(
            Call("GET", path, read_seconds=LONG_READ_SECONDS),
        )
        output = json_object(answer, "schema")
        if output["schema"] != OUTPUT_SCHEMA:
            raise unexpected(answer, f"a document with the schema {str(output['schema'])[:100]!r}")
        return cast("OutputBlob", output)

    @property
    def mu(self) -> pd.Series[float]:
        """Next-day log-returns by ticker. A ticker that was not traded at `as_of` has the mu of its own last date."""
        from .tables import mu_series

        return mu_series(self.output)

    @property
    def mu_dates(self) -> pd.Series[pd.Timestamp]:
        """The date of each mu."""
        from .tables import mu_dates_series

        return mu_dates_series(self.output)

    @property
    def as_of(self) -> str:
        """The date of the forecasts, YYYY-MM-DD."""
        return self.output["window"]["as_of"]

    @property
    def forecasts(self) -> pd.DataFrame:
        """A row for each forecast: ticker, date, part, fold, predicted, lower, upper, realised."""
        from .tables import forecasts_frame

        return forecasts_frame(self.output)

    @property
    def metrics(self) -> pd.DataFrame:
        """Metrics over all tickers, by part (score, out_of_fold) and forecast (model, zero, mean)."""
        from .tables import metrics_frame

        return metrics_frame(self.output)

    @property
    def ticker_metrics(self) -> pd.DataFrame:
        """Metrics by part and ticker."""
        from .tables import ticker_metrics_frame

        return ticker_metrics_frame(self.output)

    @property
    def verdict(self) -> Verdict | None:
        """What the forecasts are worth; None if there is no ticker, and for outputs of older versions."""
        return self.output.get("verdict")

    @property
    def warnings(self) -> list[Warning]:
        return self.output["warnings"]

    @property
    def failures(self) -> list[Failure]:
        """Tickers without a forecast, and why."""
        return self.output["failures"]

    @property
    def summary(self) -> RunSummary | None:
        """The headline, without reading the output."""
        return self.operation.get("summary")

    def report(self) -> Report:
        """The HTML report, which a notebook shows. The first request for it takes seconds."""
        path = f"{operation_path(self.id)}/report"
        call = Call("GET", path, read_seconds=LONG_READ_SECONDS)
        return Report(html_text(self._connection.send(call)))


class VerdictResult(OperationResult):
    """The verdict of an audit or a replay."""

    @cached_property
    def _view(self) -> VerdictView:
        answer = self._connection.send(Call("GET", f"{operation_path(self.id)}/verdict"))
        return cast("VerdictView", json_object(answer, "output_name"))


class AuditResult(VerdictResult):
    """What an audit found."""

    def __repr__(self) -> str:
        return f"<AuditResult {self.id}: {self.verdict}, {len(self.findings)} findings>"

    @property
    def document(self) -> AuditBlob:
        """The whole verdict, as docs/audit.md of mucast describes it."""
        document = self._view.get("audit")
        if document is None:
            raise MucastError(f"operation {self.id} is not an audit")
        return document

    @property
    def verdict(self) -> str:
        return self.document["verdict"]

    @property
    def findings(self) -> list[Finding]:
        return self.document["findings"]


class ReplayResult(VerdictResult):
    """Whether a replay got the same bytes."""

    def __repr__(self) -> str:
        return f"<ReplayResult {self.id}: {self.verdict}>"

    @property
    def document(self) -> ReplayBlob:
        """The whole verdict, as docs/audit.md of mucast describes it."""
        document = self._view.get("replay")
        if document is None:
            raise MucastError(f"operation {self.id} is not a replay")
        return document

    @property
    def verdict(self) -> str:
        return self.document["verdict"]


def open_result(connection: Connection, operation: Operation) -> ForecastResult | AuditResult | ReplayResult:
    """The result of an operation of any kind."""
    kinds: dict[str, type[AuditResult | ReplayResult]] = {"audit": AuditResult, "replay": ReplayResult}
    return kinds.get(operation["operation"], ForecastResult)(connection, operation)
