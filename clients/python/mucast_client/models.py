"""Types of the service's answers, as dictionaries. Generated from schemas/openapi.json; do not edit.

Later versions of the service may add members, codes and types of events.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


SubmittedOperation = str


class InputNames(TypedDict):
    feature: NotRequired[str]
    """Absent if a replay takes it from its output."""
    data_extractor: NotRequired[str]
    """Likewise."""


class Progress(TypedDict):
    stage: str
    done: int
    total: int | None
    percent: NotRequired[float]
    seconds_left: NotRequired[int]
    """At the stage's pace, once that is known."""


class Warning(TypedDict):
    """Something that a reader of the forecasts should know. The job continued."""

    code: str
    message: str
    ticker: NotRequired[str]
    count: NotRequired[int]


CodeCounts = dict[str, int]


class Failure(TypedDict):
    """A ticker without forecasts, and why; the others are not affected."""

    ticker: str
    code: str
    message: str


VerdictState = str


JudgedRows = str


class LaterFigures(TypedDict):
    delay: int
    """Closes between the forecasts and the trade."""
    ic: float | None
    """Mean IC there; null with fewer than 5 tickers."""
    net_5bp: float | None
    """Top fifth minus bottom fifth after costs of 5 basis points a side, in basis points a day."""
    net_low: NotRequired[float | None]
    """Lower end of its 90 % band; null if it has no error."""
    net_high: NotRequired[float | None]
    """Upper end of its 90 % band."""


class RunSummaryVerdict(TypedDict):
    state: VerdictState
    title: str
    rows: JudgedRows
    dates: int
    ic: float | None
    """The verdict's mean IC; null with fewer than 5 tickers, whose order is measured over time."""
    ic_low: float | None
    """Lower end of its 95 % band; null if it has no error, as with too few dates."""
    ic_high: float | None
    """Upper end of its 95 % band."""
    later: NotRequired[LaterFigures]
    """What the order of these rows is worth at the first close after the forecasts."""
    r2: float | None
    """R² against the zero forecast, with equal weight for each ticker."""
    coverage: float | None
    """Actual coverage of the intervals; null without intervals."""
    nominal_coverage: float | None
    """1 - alpha; null without intervals."""


class RunSummary(TypedDict):
    """What the forecasts of a job are worth, in a few figures."""

    model: str
    """Name of the model, the network or the choice, such as `choice among 7 candidates`."""
    fit: str
    as_of: str
    """The date of the forecasts, YYYY-MM-DD."""
    tickers: int
    """Number of tickers with a forecast."""
    failed: int
    """Number of tickers that the job went on without."""
    verdict: RunSummaryVerdict | None
    """The headline of the output's verdict; null if no ticker has a forecast to judge."""


class ResultRecord(TypedDict):
    """Result record"""

    status: Literal["Succeeded"]
    output_url: str
    """URL of the output blob; for a job, the portfolio optimizer's input_url."""
    output_name: str
    execution_name: str
    """The job's name and a unique suffix: dl-job-… or ml-worker-job-…"""


class Fault(TypedDict):
    """One fault of a payload."""

    path: str
    message: str
    suggestion: NotRequired[str]


class Problem(TypedDict):
    """Problem details"""

    type: str
    title: str
    status: int
    code: str
    detail: str
    advice: str
    path: NotRequired[str]
    faults: NotRequired[list[Fault]]
    """Every fault of a payload."""
    suggestion: NotRequired[str]
    accepted: NotRequired[list[str]]
    failures: NotRequired[list[Failure]]
    """Why tickers failed; of many, the first."""
    failure_counts: NotRequired[CodeCounts]
    """Of all that failed, how many by each code."""


class Operation(TypedDict):
    """At most 224 KiB of JSON."""

    id: str
    operation: SubmittedOperation
    status: Literal["NotStarted", "Running", "Succeeded", "Failed", "Canceled"]
    model: NotRequired[str]
    """Name of the model or the network of the config; absent for a replay."""
    tags: NotRequired[list[str]]
    """The tags of the payload, in its order; absent if it has none."""
    inputs: NotRequired[InputNames]
    """Names of the input blobs, without their location; absent if the payload names none."""
    created_at: str
    """UTC, ISO 8601 with milliseconds."""
    started_at: str | None
    """Start of the first attempt."""
    finished_at: str | None
    progress: Progress | None
    warnings: list[Warning]
    """The first warnings: at most 200, or as many as fit. The output lists all."""
    warning_counts: NotRequired[CodeCounts]
    """Number of warnings by code; absent if there are none."""
    failures: NotRequired[list[Failure]]
    """Tickers that the job went on without, with the same limit as for the warnings; absent if there are none."""
    failure_counts: NotRequired[CodeCounts]
    """Number of such tickers by code; absent if there are none."""
    summary: NotRequired[RunSummary]
    """What the forecasts are worth; absent before the job writes its output, and for an audit or a replay."""
    result: ResultRecord | None
    """The result of an operation that succeeded."""
    error: Problem | None
    """The problem of an operation that failed or was cancelled."""


class OperationPage(TypedDict):
    """At most 1 MiB of JSON. Large operations can make a page shorter, and long texts are cut; the operation itself has more of them."""

    operations: list[Operation]
    next_cursor: str | None
    """Use it as `cursor` to get the next page; null on the last page."""


class EventQueuedData(TypedDict):
    operation: SubmittedOperation


class EventQueued(TypedDict):
    seq: int
    operation_id: str
    time: str
    type: Literal["queued"]
    data: EventQueuedData


class EventStartedData(TypedDict):
    attempt: int


class EventStarted(TypedDict):
    seq: int
    operation_id: str
    time: str
    type: Literal["started"]
    data: EventStartedData


class EventProgress(TypedDict):
    seq: int
    operation_id: str
    time: str
    type: Literal["progress"]
    data: Progress


class EventWarning(TypedDict):
    seq: int
    operation_id: str
    time: str
    type: Literal["warning"]
    data: Warning


class EventFailure(TypedDict):
    seq: int
    operation_id: str
    time: str
    type: Literal["failure"]
    data: Failure


class EpochPoint(TypedDict):
    ticker: str
    """Ticker of the network; `portfolio` for a joint network."""
    member: NotRequired[int]
    """Index of the network in its ensemble, from 0."""
    epoch: int
    """Counted from 1."""
    train_loss: float | None
    """On scaled returns; null if it is not finite."""
    validation_loss: float | None
    """On scaled returns; null if it is not finite."""


class Epochs(TypedDict):
    points: list[EpochPoint]
    left_out: NotRequired[int]
    """Number of epochs that ended in this time and are not listed."""


class EventEpochs(TypedDict):
    seq: int
    operation_id: str
    time: str
    type: Literal["epochs"]
    data: Epochs


class EventCancelRequested(TypedDict):
    seq: int
    operation_id: str
    time: str
    type: Literal["cancel_requested"]
    data: dict[str, Any]


class EventSucceeded(TypedDict):
    seq: int
    operation_id: str
    time: str
    type: Literal["succeeded"]
    data: Operation


class EventFailed(TypedDict):
    seq: int
    operation_id: str
    time: str
    type: Literal["failed"]
    data: Operation


class EventCanceled(TypedDict):
    seq: int
    operation_id: str
    time: str
    type: Literal["canceled"]
    data: Operation


Event = EventQueued | EventStarted | EventProgress | EventWarning | EventFailure | EventEpochs | EventCancelRequested | EventSucceeded | EventFailed | EventCanceled


class Snapshot(TypedDict):
    seq: int
    operation_id: str
    time: str
    type: Literal["snapshot"]
    data: Operation


JobOperation = str


class MachineBlasValue(TypedDict):
    name: str
    version: str | None
    kernel: str | None
    """The processor that its kernels were written for, such as Haswell."""


class Machine(TypedDict):
    processor: str
    """Architecture, vendor, family and model: `x86_64 AuthenticAMD family 25 model 17`."""
    numpy_dispatch: list[str]
    """Instruction sets beyond its baseline that NumPy chooses kernels for."""
    torch_capability: str | None
    """Instruction set that PyTorch chooses kernels for; null if the job does not use PyTorch."""
    blas: dict[str, MachineBlasValue]
    """The BLAS of numpy, and of scipy if the job uses it."""


class Window(TypedDict):
    start: str
    end: str
    learning_end: str | None
    as_of: str
    median_spacing_days: NotRequired[float | None]
    """Median number of calendar days from a row to the ticker's next price, over all fit rows: 1 with daily prices."""
    delay: NotRequired[int]
    """The number of closes after its date at which the return of a forecast begins; it ends at the next close. Absent for 0: the return begins at the close of the date itself."""


FindingState = str


TestMethod = str


class OrderFinding(TypedDict):
    state: FindingState
    dates: int
    """Dates that count."""
    t: float | None
    """t of the mean over dates. Null if it does not exist or if all dates agree apart from rounding."""
    quantile: float | None
    """The t that evidence needs; null if there are too few dates."""
    method: NotRequired[TestMethod]
    """How the error of t is estimated: `ewc_8` by 8 cosine sums, from 60 dates on, with Student's quantile for 8 degrees of freedom; `newey_west_5` by Newey and West with lag 5 and the fixed-b quantile, with fewer dates and in outputs of 0.2.0, which lack this; `student` as the root of the sum of squares, with Student's quantile."""
    sentence: str
    """The finding in words."""
    figure: float | None
    """Mean IC over dates with at least 5 tickers; with fewer than 30 such dates (form time_series), the mean over dates of the return on the side of the forecast, in deviations of each ticker's fit labels."""
    form: str
    mean_figure: float | None
    """The same figure for the training mean, the best baseline that has an order; null over time, where it has none."""
    added_figure: NotRequired[float | None]
    """The same figure for what the forecasts add to the training mean: the residual of a regression on it. Null if they add nothing; absent over time."""
    added_t: NotRequired[float | None]
    """The t of added_figure; evidence needs it too."""


class SizeTest(TypedDict):
    r2: float | None
    """1 - SSE / SSE of the baseline, in units of each ticker's root mean square label."""
    clark_west_t: float | None
    """Clark and West (2007), on the forecasts whose order is judged (with shrinkage `pooled` the model's own): whether they contain information that the baseline does not, apart from their noise."""
    squared_error_t: float | None
    """Whether the squared error of the forecasts as published is smaller than the baseline's; on held-out rows, of the forecasts before shrinkage."""


class SizesFindingAgainst(TypedDict):
    zero: SizeTest
    mean: SizeTest


class SizesFinding(TypedDict):
    state: FindingState
    dates: int
    """Dates that count."""
    t: float | None
    """t of the mean over dates. Null if it does not exist or if all dates agree apart from rounding."""
    quantile: float | None
    """The t that evidence needs; null if there are too few dates."""
    method: NotRequired[TestMethod]
    """How the error of t is estimated: `ewc_8` by 8 cosine sums, from 60 dates on, with Student's quantile for 8 degrees of freedom; `newey_west_5` by Newey and West with lag 5 and the fixed-b quantile, with fewer dates and in outputs of 0.2.0, which lack this; `student` as the root of the sum of squares, with Student's quantile."""
    sentence: str
    """The finding in words."""
    figure: float | None
    """`r2` against the best baseline."""
    informative: bool
    """Whether both Clark-West tests pass, so that the model knows something about sizes, whatever its noise costs. `state` is evidence only if the squared error is smaller than those of both baselines, too."""
    best_baseline: str
    """The baseline with the smaller squared error."""
    against: SizesFindingAgainst


class IntervalsFinding(TypedDict):
    state: FindingState
    dates: int
    """Dates that count."""
    t: float | None
    """t of the mean over dates. Null if it does not exist or if all dates agree apart from rounding."""
    quantile: float | None
    """The t that evidence needs; null if there are too few dates."""
    method: NotRequired[TestMethod]
    """How the error of t is estimated: `ewc_8` by 8 cosine sums, from 60 dates on, with Student's quantile for 8 degrees of freedom; `newey_west_5` by Newey and West with lag 5 and the fixed-b quantile, with fewer dates and in outputs of 0.2.0, which lack this; `student` as the root of the sum of squares, with Student's quantile."""
    sentence: str
    """The finding in words."""
    figure: float | None
    """Coverage."""
    asked: float
    """1 - alpha."""
    quiet: NotRequired[float | None]
    """Coverage on the tenth of days with the lowest volatility."""
    wild: NotRequired[float | None]
    """Coverage on the tenth of days with the highest volatility."""


class RowsVerdict(TypedDict):
    rows: JudgedRows
    order: OrderFinding
    sizes: SizesFinding
    intervals: IntervalsFinding | None


class Verdict(TypedDict):
    state: str
    """Judged by the order and the sizes on `rows`: the score rows if they have labels on at least 250 dates."""
    rows: JudgedRows
    title: str
    sentence: str
    later: NotRequired[str]
    """What the order is worth if the trades are made at the first close after the forecasts, in a sentence; absent with fewer than 30 dates."""
    judged: list[RowsVerdict]
    """Each set of rows; the one behind the headline comes first."""


class OutputBlobForecastsValue(TypedDict):
    dates: list[str]
    predicted: list[float]
    """Forecast of the next-day log-return, made at the close of the date. With window.delay, of the return that a trade that many closes later earns until the next close."""
    realised: list[float | None]
    lower: list[float | None]
    upper: list[float | None]
    model: NotRequired[list[float]]
    """The model's own forecasts, before shrinkage; present with shrinkage pooled if its factor is 0 for any score row of the job."""


class Importance(TypedDict):
    feature: str
    importance: float


class DateSpan(TypedDict):
    start: str
    end: str


class FitSplits(TypedDict):
    """run_dl_job: the first and last date of the ticker's windows in each part."""

    train: DateSpan | None
    validate: DateSpan | None
    calibrate: DateSpan | None


class Fit(TypedDict):
    """What a ticker's model was fitted on."""

    fit_rows: int
    features: int
    """Features with a value on the training dates."""
    label_mean: float
    """Mean label of the fit rows, as a log-return."""
    label_deviation: NotRequired[float]
    """Standard deviation (ddof 0) of these labels, as a log-return; absent in outputs of 0.2.0."""
    importances: NotRequired[list[Importance]]
    """Importances in the final fit, by the measure of its library: the 50 largest absolute values, in descending order."""
    splits: NotRequired[FitSplits]
    """run_dl_job: the first and last date of the ticker's windows in each part."""


class PooledFit(TypedDict):
    """run_ml_job with fit pooled: what the shared regressor was fitted on."""

    fit_rows: int
    """Fit rows of all tickers."""
    features: int
    """Columns of the matrix: all features that any ticker has."""
    label_mean: float
    """Mean label of the fit rows of all tickers, as a log-return."""
    fold_rows: list[int]
    """Training rows of each fold, over all tickers."""
    importances: NotRequired[list[Importance]]
    """Importances in the final fit, by the measure of its library: the 50 largest absolute values, in descending order."""


class RefitBlock(TypedDict):
    start: str
    end: str
    """The last date with a score row."""
    fit_rows: int
    """Rows that its models learned from, over all tickers."""
    tickers: int
    """Tickers with a forecast in the block."""
    stand_ins: int
    """Tickers forecast by an earlier block's model because the fit for this block failed."""
    n: int
    """Score rows with a label."""
    r2_zero: float | None
    hit_rate: float | None
    dates: int
    """Dates with an IC."""
    ic_mean: float | None
    rank_ic_mean: float | None


class RefitsByTickerValueImportancesItem(TypedDict):
    feature: str
    importance: float
    spread: NotRequired[float]
    """Standard deviation (ddof 1) over the fits of all blocks; absent where one does not list the feature."""


class RefitsByTickerValue(TypedDict):
    joins: NotRequired[str]
    """Of a ticker with too few fit rows at Learning_end: the first date of the block from which it has forecasts."""
    label_means: list[float | None]
    """By block: the mean of the ticker's labels that its model learned from, as a log-return; null if the ticker has no row in the block."""
    factors: NotRequired[list[float | None]]
    """By block: the factor of shrinkage for the ticker's forecasts; absent without shrinkage."""
    importances: NotRequired[list[RefitsByTickerValueImportancesItem]]
    """Importances in the ticker's last fit; absent with fit pooled."""


class RefitsImportancesItem(TypedDict):
    feature: str
    importance: float
    spread: NotRequired[float]
    """Standard deviation (ddof 1) over the fits of all blocks; absent where one does not list the feature."""


class RefitsTrainingValue(TypedDict):
    """By block, over an ensemble the mean of its members; null if no network was trained for the block, or its training failed."""

    epochs: list[float | None]
    """Epochs until training stopped."""
    best_epochs: list[float | None]
    """The epoch whose weights forecast the block."""
    validation_losses: list[float | None]
    """Validation loss after the best epoch."""
    zero_validation_losses: list[float | None]
    """Validation loss of the zero forecast."""
    validation_ics: NotRequired[list[float | None]]
    """With monitor ic: the validation IC after the best epoch."""


class Refits(TypedDict):
    """With refit_every or window: the blocks of score rows, and the fits that forecast them."""

    blocks: list[RefitBlock]
    """In time order; the models of the first block learned from the fit rows."""
    by_ticker: dict[str, RefitsByTickerValue]
    importances: NotRequired[list[RefitsImportancesItem]]
    """With fit pooled: importances in the last fit, as in `pooled`."""
    training: NotRequired[dict[str, RefitsTrainingValue]]
    """Of run_dl_job: how the networks of each block were trained, by ticker or `portfolio`."""


class ChoiceCandidate(TypedDict):
    label: str
    r2: float | None
    """1 - SSE / SSE of the zero forecast on the published out-of-fold rows, each in its ticker's unit."""
    ic: NotRequired[float | None]
    """Mean IC over label dates with at least 5 tickers on the published out-of-fold rows. Null without such a date; absent in older outputs."""
    gain: float | None
    """Mean over label dates of candidate 0's squared error less this one's, in the ticker's unit, on rows that both forecast; with measure ic, of this one's IC less candidate 0's. Positive is better. Null with fewer than 30 dates."""
    gain_t: float | None
    """Its t over dates; `method` names the error."""
    tickers: int
    """Tickers that the candidate could fit."""
    member: bool
    """Whether it is a member for the score rows of all tickers."""
    dropped_on: NotRequired[str]
    """Outputs of 0.2.0 with racing: the date from which it has no fits."""
    settings: dict[str, Any]
    """Its resolved settings, with every default filled in."""


class OutputChoiceChangesItem(TypedDict):
    date: str
    members: list[int]
    """Numbers of candidates, ascending."""


class OutputChoiceHonest(TypedDict):
    """The published out-of-fold forecasts themselves."""

    r2: float | None
    """1 - SSE / SSE of the zero forecast on the published out-of-fold rows, each in its ticker's unit."""
    ic: NotRequired[float | None]
    """Mean IC over label dates with at least 5 tickers on the published out-of-fold rows. Null without such a date; absent in older outputs."""
    gain: float | None
    """Mean over label dates of candidate 0's squared error less this one's, in the ticker's unit, on rows that both forecast; with measure ic, of this one's IC less candidate 0's. Positive is better. Null with fewer than 30 dates."""
    gain_t: float | None
    """Its t over dates; `method` names the error."""


class OutputChoiceLosses(TypedDict):
    """What the choice was made from."""

    reference: int
    """The candidate that the others are compared with."""
    dates: list[str]
    """Label dates, ascending."""
    excess: list[list[float | None]]
    """By candidate and date: the mean over tickers of its squared error less the reference's, in the ticker's unit; with measure ic, the reference's IC less its own. Null without common rows."""
    gains: NotRequired[list[float | None]]
    """By date: the mean over tickers of candidate 0's squared error minus the squared error of the published forecasts, in the ticker's unit; with measure ic, the IC of the published forecasts minus candidate 0's; the mean over dates is `honest.gain`. Null without a published row that candidate 0 forecasts."""


class OutputChoice(TypedDict):
    """With `choice`: the candidates, and what choosing was worth."""

    rule: str
    over: NotRequired[str]
    """Outputs of 0.2.0: whether members were chosen per ticker."""
    measure: NotRequired[str]
    """What compares candidates; absent in older outputs, which used squared_error."""
    method: NotRequired[TestMethod]
    """How the errors of gains over 60 dates or more are estimated: `ewc_8`, as in `verdict`, and by Newey and West with lag 5 with fewer dates; absent in outputs of 0.2.0, which used the latter for all."""
    seed: int
    warm_up: NotRequired[int]
    """run_ml_job: further folds that only served the choice."""
    racing: NotRequired[bool]
    """Outputs of 0.2.0: candidates that fell behind were dropped."""
    candidates: list[ChoiceCandidate]
    """The first is the config itself."""
    members: list[int]
    """Members for the score rows of all tickers, and so for mu."""
    by_ticker: NotRequired[dict[str, list[int]]]
    """Outputs of 0.2.0: members for the score rows by ticker, if these were chosen per ticker."""
    changes: list[OutputChoiceChangesItem]
    """The members for folds that begin at or after the date, by losses known at its close."""
    honest: OutputChoiceHonest
    """The published out-of-fold forecasts themselves."""
    best: int
    """The candidate with the smallest mean loss over all out-of-fold rows."""
    optimism: float | None
    """The r2 of `best` minus the r2 of `honest`; with measure ic, their ic."""
    losses: OutputChoiceLosses
    """What the choice was made from."""


class PermutationImportanceGroupsItem(TypedDict):
    features: list[str]
    """Features that are shuffled together."""
    correlation: NotRequired[float]
    """Mean absolute rank correlation between the two parts of the group that were merged last: below 0.7 only with more than 50 groups, or for a feature and its z-score. Absent for a single feature."""
    loss: float | None
    """`figure` minus the same with these features shuffled."""
    t: float | None
    """t of the loss over dates."""


class PermutationImportance(TypedDict):
    """run_ml_job with importance: how much order the out-of-fold forecasts lose if a group of features is shuffled."""

    form: str
    dates: int
    """Dates that count."""
    figure: float | None
    """Mean RankIC of the out-of-fold forecasts, before shrinkage, over dates with at least 5 tickers; with fewer than 30 such dates, the order over time, as in `verdict`."""
    quantile: float | None
    """The t that a single group exceeds by chance in 5 % of cases; null if there are too few dates."""
    method: NotRequired[TestMethod]
    """How the error of t is estimated: `ewc_8` by 8 cosine sums, from 60 dates on, with Student's quantile for 8 degrees of freedom; `newey_west_5` by Newey and West with lag 5 and the fixed-b quantile, with fewer dates and in outputs of 0.2.0, which lack this; `student` as the root of the sum of squares, with Student's quantile."""
    groups: list[PermutationImportanceGroupsItem]
    """Largest loss first."""


class OutputBlobCrossValidationValueFoldsItem(TypedDict):
    train_start: str
    train_end: str
    test_start: str
    test_end: str
    train_rows: int
    label_mean: NotRequired[float]
    """Mean label of the training rows, as a log-return; absent in outputs of 0.2.0."""
    n: int
    rmse: float | None
    """Root mean squared error, log-return."""
    mae: float | None
    """Mean absolute error, log-return."""
    hit_rate: float | None
    """Share of rows with the right sign, over rows where neither label nor forecast is 0."""
    up_share: NotRequired[float | None]
    """Share of those rows with a return above 0."""
    hit_rate_se: NotRequired[float | None]
    """Binomial standard error of the hit rate, as if rows were independent."""
    r2_zero: float | None
    """1 - SSE / sum y^2: against the zero forecast."""
    r2_mean: float | None
    """1 - SSE / sum (y - mean of the training labels)^2."""
    correlation: float | None
    """Pearson correlation of labels and forecasts."""


class OutputBlobCrossValidationValue(TypedDict):
    folds: list[OutputBlobCrossValidationValueFoldsItem]
    dates: list[str]
    predicted: list[float]
    realised: list[float]
    n: int
    rmse: float | None
    """Root mean squared error, log-return."""
    mae: float | None
    """Mean absolute error, log-return."""
    hit_rate: float | None
    """Share of rows with the right sign, over rows where neither label nor forecast is 0."""
    up_share: NotRequired[float | None]
    """Share of those rows with a return above 0."""
    hit_rate_se: NotRequired[float | None]
    """Binomial standard error of the hit rate, as if rows were independent."""
    r2_zero: float | None
    """1 - SSE / sum y^2: against the zero forecast."""
    r2_mean: float | None
    """1 - SSE / sum (y - mean of the training labels)^2."""
    correlation: float | None
    """Pearson correlation of labels and forecasts."""


class OutputBlobTrainingValueEpochsItem(TypedDict):
    train_loss: float
    validation_loss: float
    validation_ic: NotRequired[float]
    """With monitor ic: mean correlation between forecasts and targets across tickers, over the validation dates."""


class OutputBlobTrainingValueMembersItemEpochsItem(TypedDict):
    train_loss: float
    validation_loss: float
    validation_ic: NotRequired[float]
    """With monitor ic: mean correlation between forecasts and targets across tickers, over the validation dates."""


class OutputBlobTrainingValueMembersItem(TypedDict):
    member: int
    epochs: list[OutputBlobTrainingValueMembersItemEpochsItem]
    best_epoch: int
    """Counted from 1. The forecasts use the average of the weights up to the end of this epoch."""
    zero_validation_loss: float
    prediction_scale: NotRequired[float]
    """Only with the loss directional: the factor of the network's raw predictions."""


class OutputBlobTrainingValue(TypedDict):
    epochs: list[OutputBlobTrainingValueEpochsItem]
    best_epoch: int
    """Counted from 1. The forecasts use the average of the weights up to the end of this epoch."""
    zero_validation_loss: NotRequired[float]
    """Validation loss of the zero forecast; absent in outputs of older versions."""
    parameters: int
    """Number of parameters of the network."""
    prediction_scale: NotRequired[float]
    """Only with the loss directional: the factor of the network's raw predictions."""
    members: NotRequired[list[OutputBlobTrainingValueMembersItem]]
    """The networks of an ensemble from member 1 on; the members beside this one describe member 0."""


class Metrics(TypedDict):
    n: int
    rmse: float | None
    """Root mean squared error, log-return."""
    mae: float | None
    """Mean absolute error, log-return."""
    hit_rate: float | None
    """Share of rows with the right sign, over rows where neither label nor forecast is 0."""
    up_share: NotRequired[float | None]
    """Share of those rows with a return above 0."""
    hit_rate_se: NotRequired[float | None]
    """Binomial standard error of the hit rate, as if rows were independent."""
    r2_zero: float | None
    """1 - SSE / sum y^2: against the zero forecast."""
    r2_mean: float | None
    """1 - SSE / sum (y - mean of the training labels)^2."""
    correlation: float | None
    """Pearson correlation of labels and forecasts."""


class CrossSection(TypedDict):
    dates: int
    mean_tickers: NotRequired[float | None]
    """Mean number of tickers per date."""
    ic_mean: float | None
    ic_std: float | None
    icir: float | None
    ic_t: float | None
    """icir x sqrt(dates), as if dates were independent; verdicts use another error."""
    ic_t_newey_west: NotRequired[float | None]
    """Allows for correlation over time, up to a lag of 5 dates."""
    rank_ic_mean: float | None
    rank_ic_std: float | None
    rank_icir: float | None
    rank_ic_t: float | None
    """The same for RankIC."""


class DelayedOrder(TypedDict):
    delay: int
    """Closes between the close of the row and the trade."""
    dates: int
    """Dates that count; all figures of the entry are over the same ones."""
    ic_mean: float | None
    """Mean IC; null with fewer than 5 tickers, like the next figures up to net_10bp."""
    ic_t: float | None
    """t of a mean over dates, like every t here."""
    rank_ic_mean: float | None
    rank_ic_t: float | None
    spread_mean: float | None
    """Mean simple return of the top fifth of the forecasts minus that of the bottom fifth, in basis points a day."""
    spread_t: float | None
    turnover: float | None
    """Mean share of the tickers of a fifth that were not in it on the previous date."""
    net_1bp: float | None
    """The spread after costs of 1 basis point a side, in basis points a day."""
    net_5bp: float | None
    net_5bp_t: NotRequired[float | None]
    net_10bp: float | None
    order_mean: NotRequired[float | None]
    """Only with fewer than 5 tickers: the mean of the order over time, in place of the IC."""
    order_t: NotRequired[float | None]


class ExposuresResidual(TypedDict):
    """Over the same dates, the IC of what the exposures together leave of the forecasts."""

    ic_mean: float | None
    ic_t: float | None


class Exposure(TypedDict):
    name: str
    dates: int
    """Dates on which at least 5 tickers have a forecast and the exposure."""
    correlation_mean: float | None
    """Mean correlation of forecasts and exposure across the tickers of a date."""
    correlation_t: float | None


class Exposures(TypedDict):
    dates: int
    """Dates on which at least 12 tickers have a label and all exposures."""
    ic_mean: float | None
    """Mean IC over these dates."""
    ic_t: float | None
    residual: ExposuresResidual
    """Over the same dates, the IC of what the exposures together leave of the forecasts."""
    by_exposure: list[Exposure]
    """One entry per exposure."""


class ModelTable(TypedDict):
    pooled: Metrics
    by_ticker: dict[str, Metrics]
    cross_section: CrossSection
    r2_zero_median: NotRequired[float | None]
    """The median of the tickers' r2_zero."""
    by_delay: NotRequired[list[DelayedOrder]]
    """The order traded at the close that the labels assume and one and two closes later, of the forecasts whose order is judged: with shrinkage `pooled` the model's own."""
    exposures: NotRequired[Exposures]
    """What the models' forecasts have in common with prices; absent with fewer than 5 tickers."""


class MetricsTable(TypedDict):
    pooled: Metrics
    by_ticker: dict[str, Metrics]
    cross_section: CrossSection
    r2_zero_median: NotRequired[float | None]
    """The median of the tickers' r2_zero."""


class BaselineTables(TypedDict):
    score: MetricsTable
    out_of_fold: NotRequired[MetricsTable]


class OutputBlobMetricsBaselines(TypedDict):
    zero: BaselineTables
    mean: BaselineTables


class Shrinkage(TypedDict):
    n: int
    b: float | None
    """Slope of labels on forecasts, through 0: sum y p / sum p^2."""
    se: float | None
    """Standard error of b, robust to changing volatility."""
    s: float
    """The share of the forecasts that the slope supports: max(0, min(1, b - se)), and for by_date its expected value."""


class LevelSpan(TypedDict):
    start: str
    level: float


class OutputBlobMetricsShrinkageLevels(TypedDict):
    """With target relative or rank: the common level of all tickers by date, a log-return, for the held-out rows and for the score rows. Shrinkage pooled publishes f = level + s (p - level) for a model's forecast p."""

    held_out: list[LevelSpan]
    """From each start on, until the next one; 0 before the first."""
    score: list[LevelSpan]
    """From each start on, until the next one; 0 before the first."""


class OutputBlobMetricsShrinkage(TypedDict):
    """Whether the model's own forecasts have the right size, on out-of-fold rows; for networks, on the calibration part, or else on the validation part."""

    pooled: Shrinkage
    by_date: NotRequired[Shrinkage]
    """The pooled slope with dates as units, of labels on forecasts above the level of their date, in units of each ticker's root mean square label. Its s, the factor of shrinkage `pooled`, is the mean of the slope given b, se and a prior."""
    by_ticker: dict[str, Shrinkage]
    applied: NotRequired[dict[str, float]]
    """Factor of each ticker's forecasts; absent without shrinkage."""
    levels: NotRequired[OutputBlobMetricsShrinkageLevels]
    """With target relative or rank: the common level of all tickers by date, a log-return, for the held-out rows and for the score rows. Shrinkage pooled publishes f = level + s (p - level) for a model's forecast p."""


IntervalMethod = str


IntervalBound = Literal["both", "lower", "upper"]


class Coverage(TypedDict):
    n: int
    coverage: float | None
    mean_width: float | None
    """Log-return; null for one-sided intervals."""
    interval_score: NotRequired[float | None]
    """Winkler score: the width plus 2 / alpha times the distance of a miss. Lower is better."""


class IntervalEvidencePrequential(TypedDict):
    """Coverage of residuals by intervals made from earlier residuals: evidence before any label of a score row is known."""

    n: int
    coverage: float | None


class IntervalEvidence(TypedDict):
    n: int
    coverage: float | None
    mean_width: float | None
    """Log-return; null for one-sided intervals."""
    interval_score: NotRequired[float | None]
    """Winkler score: the width plus 2 / alpha times the distance of a miss. Lower is better."""
    by_year: NotRequired[dict[str, Coverage]]
    """By calendar year of the row."""
    high_volatility: NotRequired[Coverage]
    """Over the tenth of each ticker's labelled rows with the largest standard deviation of the last 20 known returns."""
    worst_250: NotRequired[float | None]
    """The lowest coverage of 250 successive rows of one ticker."""
    prequential: NotRequired[IntervalEvidencePrequential | None]


class JointMisses(TypedDict):
    dates: int
    """Dates on which at least five tickers have a label and ends."""
    half_missed: int
    """Number of those dates on which at least half of these tickers missed."""


class OutputBlobMetricsIntervalsOtherMethodsValue(TypedDict):
    pooled: IntervalEvidence
    by_volatility: NotRequired[list[Coverage]]
    """Over all tickers, ten entries: tenths of each ticker's labelled rows by the standard deviation of the last 20 known returns, the quietest first."""
    joint_misses: NotRequired[JointMisses]
    by_ticker: dict[str, IntervalEvidence]
    score_ratio: float | None
    """Interval score of the configured method divided by that of this method, as the mean of the tickers' ratios."""


class OutputBlobMetricsIntervals(TypedDict):
    method: NotRequired[IntervalMethod]
    alpha: float
    bound: IntervalBound
    constants: NotRequired[dict[str, float]]
    """Constants of the method; empty for split."""
    pooled: IntervalEvidence
    by_volatility: NotRequired[list[Coverage]]
    """Over all tickers, ten entries: tenths of each ticker's labelled rows by the standard deviation of the last 20 known returns, the quietest first."""
    joint_misses: NotRequired[JointMisses]
    by_ticker: dict[str, IntervalEvidence]
    other_methods: NotRequired[dict[str, OutputBlobMetricsIntervalsOtherMethodsValue]]
    """Results of the other methods on the same rows, by name."""


class OutputBlobMetrics(TypedDict):
    score: ModelTable
    out_of_fold: NotRequired[ModelTable]
    baselines: OutputBlobMetricsBaselines
    shrinkage: NotRequired[OutputBlobMetricsShrinkage]
    """Whether the model's own forecasts have the right size, on out-of-fold rows; for networks, on the calibration part, or else on the validation part."""
    intervals: OutputBlobMetricsIntervals | None


class OutputBlobProvenanceRequestedWindow(TypedDict):
    """The bounds of the window that the payload gave; absent if it gave none."""

    start: str | None
    end: str | None
    learning_end: str | None


class OutputBlobProvenance(TypedDict):
    feature_url: str
    data_extractor_url: str
    feature_sha256: str
    data_extractor_sha256: str
    requested_window: NotRequired[OutputBlobProvenanceRequestedWindow]
    """The bounds of the window that the payload gave; absent if it gave none."""
    config: NotRequired[str | None]
    """The JSON text of the config's section `ML params` or `NN params`, as the caller wrote it; null if it contains a signed URL."""
    config_sha256: str
    versions: dict[str, str]
    commit: NotRequired[str]
    """The commit of mucast, with -dirty if it was built with changes that were not committed; absent if it is unknown."""
    lock_sha256: NotRequired[str | None]
    """SHA-256 of the lock file of the Python environment; null if MUCAST_PYTHON names the interpreter."""
    seed: Any
    threads_per_fit: int
    threads: NotRequired[dict[str, int | None] | None]
    kernel_level: NotRequired[str | None]
    """Processor level that the kernels were pinned to, such as x86-64-v3; null if they were not pinned."""
    device: str


class OutputBlob(TypedDict):
    """Output blob"""

    schema: Literal["mucast.forecast/1"]
    operation: JobOperation
    id: str
    created_at: str
    machine: NotRequired[Machine | None]
    """What the libraries ran on; null if none ran. Like id and created_at, it belongs to the run, not to the request."""
    window: Window
    mu: dict[str, float]
    """Next-day log-return at as_of, by ticker. With window.delay, the return that a trade that many closes after as_of earns until the next close."""
    mu_model: NotRequired[dict[str, float]]
    """The model's own mu, before shrinkage, of the tickers whose forecasts have `model`."""
    mu_dates: NotRequired[dict[str, str]]
    """Date of the row behind mu, by ticker."""
    mu_spread: NotRequired[dict[str, float]]
    """For an ensemble, by ticker of mu: standard deviation (ddof 1) of the members' mu, as a log-return. It shows how much the seed matters, not how far off mu may be."""
    verdict: NotRequired[Verdict]
    """What the forecasts are worth; absent if there is no ticker, and in outputs of older versions."""
    forecasts: dict[str, OutputBlobForecastsValue]
    fits: NotRequired[dict[str, Fit]]
    pooled: NotRequired[PooledFit]
    refits: NotRequired[Refits]
    choice: NotRequired[OutputChoice]
    permutation_importance: NotRequired[PermutationImportance]
    cross_validation: NotRequired[dict[str, OutputBlobCrossValidationValue]]
    training: NotRequired[dict[str, OutputBlobTrainingValue]]
    metrics: OutputBlobMetrics
    model: dict[str, Any]
    """The resolved configuration, with every default filled in."""
    warnings: list[Warning]
    failures: list[Failure]
    tags: NotRequired[list[str]]
    """The tags of the payload, in its order; absent if it has none."""
    provenance: OutputBlobProvenance


class AuditCheck(TypedDict):
    status: str
    reason: NotRequired[str]
    """Why the check did not run."""
    cost: str
    """Cost of the check, in jobs or in readings of the blobs."""
    tests: int
    """Number of comparisons or statistical tests."""
    facts: dict[str, Any]


class AuditBlobChecks(TypedDict):
    """Each requested check."""

    preparation: NotRequired[AuditCheck]
    """Only in verdicts of 0.2.0."""
    truncation: NotRequired[AuditCheck]
    restatement: NotRequired[AuditCheck]
    foresight: NotRequired[AuditCheck]
    skill: NotRequired[AuditCheck]


class Finding(TypedDict):
    number: int
    """Counted from 1, the most severe first."""
    check: str
    code: str
    severity: str
    feature: NotRequired[str]
    ticker: NotRequired[str]
    message: str
    evidence: dict[str, Any]
    advice: str


class AuditInput(TypedDict):
    url: str
    """Without secrets; for a local file, its name."""
    sha256: str


class AuditBlobInputs(TypedDict):
    feature: AuditInput
    data_extractor: AuditInput
    previous_feature: NotRequired[AuditInput]
    previous_data_extractor: NotRequired[AuditInput]
    prices: NotRequired[AuditInput]
    """The price CSV of `preparation`."""
    config_sha256: str


class AuditBlob(TypedDict):
    """Audit blob"""

    schema: Literal["mucast.audit/1"]
    id: str
    operation: JobOperation
    verdict: str
    """`found` if a finding is high or medium. Notes and accepted findings leave it clean."""
    sentence: NotRequired[str]
    """The verdict in words, with what it could not compare. Absent in verdicts of earlier versions."""
    blind_spots: list[str]
    """What no check of this audit can see."""
    checks: AuditBlobChecks
    """Each requested check."""
    findings: list[Finding]
    """The first findings, by severity."""
    finding_counts: dict[str, int]
    """All findings, by code."""
    accepted: list[str]
    """Accepted features and codes of accepted findings."""
    inputs: AuditBlobInputs
    versions: dict[str, str]
    kernel_level: NotRequired[str]
    """Processor level that the kernels of the audit's jobs were pinned to; absent if they were not pinned."""


class ReplayReason(TypedDict):
    code: str
    message: str
    advice: str


class ReplayBlobOutput(TypedDict):
    url: str
    """Without secrets; for a local file, its name."""
    sha256: str
    """SHA-256 of the output as stored."""
    operation: JobOperation | None
    id: str | None
    created_at: str | None


class ReplayBlobCompared(TypedDict):
    """Present if the job ran."""

    sha256: str
    """SHA-256 of the output's text without id, created_at, machine, and white space between tokens."""
    replayed_sha256: str
    """The same for the new document; equal if the replay is identical and the output lacks nothing."""
    numbers: int
    """Number of numbers in that text."""


class Difference(TypedDict):
    path: str
    """For example, forecasts.AAA.predicted[3]."""
    recorded: NotRequired[Any]
    replayed: NotRequired[Any]
    absolute: NotRequired[float]
    relative: NotRequired[float | None]
    """Relative to the recorded number; null if that is 0, or too small for a quotient."""


class DifferencesMembersItem(TypedDict):
    name: str
    numbers: int
    others: int
    largest: float | None
    """Largest absolute difference."""


class Differences(TypedDict):
    numbers: int
    """Numbers in both documents that differ."""
    others: int
    """Texts, nulls and lengths that differ, and members of only one document."""
    spellings: NotRequired[int]
    """Equal values that are written differently, such as 1.0 for 1; absent if there are none."""
    first: Difference
    largest: Difference | None
    """The difference with the largest absolute value."""
    largest_relative: Difference | None
    members: list[DifferencesMembersItem]
    """Top-level members that differ."""


class ReplayInputFound(TypedDict):
    url: str
    sha256: str


class ReplayInputTriedItem(TypedDict):
    url: str
    problem: str


class InputChangeTickers(TypedDict):
    """Tickers with a changed value, or with a date or column in only one blob."""

    count: int
    first: list[str]


class InputChangeColumns(TypedDict):
    """Columns with a changed value, or in only one blob."""

    count: int
    first: list[str]


class InputChangeDates(TypedDict):
    count: int
    first: str
    last: str


class InputChangeOnlyRecorded(TypedDict):
    """Tickers that only the recorded blob has."""

    count: int
    first: list[str]


class InputChangeOnlyFound(TypedDict):
    """Tickers that only the found blob has."""

    count: int
    first: list[str]


class InputChange(TypedDict):
    """How the found blob differs from the one that the output was made from."""

    values: int
    """Values that differ, of a ticker, date and column that both blobs have."""
    tickers: InputChangeTickers
    """Tickers with a changed value, or with a date or column in only one blob."""
    columns: InputChangeColumns
    """Columns with a changed value, or in only one blob."""
    dates: InputChangeDates | None
    """Dates with a changed value, or in only one blob."""
    only_recorded: InputChangeOnlyRecorded
    """Tickers that only the recorded blob has."""
    only_found: InputChangeOnlyFound
    """Tickers that only the found blob has."""


class ReplayInput(TypedDict):
    url: str
    """The URL in the output."""
    sha256: str
    found: ReplayInputFound | None
    """The blob with that digest, or else the first one that could be read; null if none could be read."""
    tried: list[ReplayInputTriedItem]
    """Places without a blob of that digest, and why."""
    change: NotRequired[InputChange]
    """Present if both the recorded blob and another one are available."""


class ReplayBlobInputs(TypedDict):
    """Absent if the output does not name them."""

    feature: ReplayInput
    data_extractor: ReplayInput


class ChangedFact(TypedDict):
    """Null if that side does not have it."""

    name: str
    recorded: str | None
    replayed: str | None


class ReplayBlobProblem(TypedDict):
    """The problem that ended the job."""

    code: str
    detail: str


class ReplayBlob(TypedDict):
    """Replay blob"""

    schema: Literal["mucast.replay/1"]
    id: str
    verdict: str
    reason: NotRequired[ReplayReason]
    """The likely reason; absent if the replay is identical."""
    output: ReplayBlobOutput
    compared: NotRequired[ReplayBlobCompared]
    """Present if the job ran."""
    differences: NotRequired[Differences]
    lacks: list[str]
    """Members that the older version of the output did not write; they were not compared."""
    inputs: NotRequired[ReplayBlobInputs]
    """Absent if the output does not name them."""
    versions: list[ChangedFact]
    """Versions that differ."""
    machine: list[ChangedFact]
    """Facts about the machine that differ."""
    problem: NotRequired[ReplayBlobProblem]
    """The problem that ended the job."""


class VerdictView(TypedDict):
    id: str
    operation: str
    output_name: str
    """Name of the blob with the verdict."""
    audit: NotRequired[AuditBlob]
    """The verdict of an audit."""
    replay: NotRequired[ReplayBlob]
    """The verdict of a replay."""


class UploadedBlob(TypedDict):
    """Uploaded blob"""

    name: str
    url: str
    """To submit as `feature_url` or `data_extractor_url`."""
    size: int
    """Bytes."""
    etag: str
    """As in the ETag header."""


class PreparedBlobs(TypedDict):
    """Prepared blobs"""

    id: str
    """In the names of both blobs."""
    feature_url: str
    """Submit it as `feature_url`."""
    data_extractor_url: str
    """Submit it as `data_extractor_url`."""
    tickers: list[str]
    """The first tickers, at most 200."""
    ticker_count: int
    dates: int
    """Number of dates."""
    start: str
    end: str
    learning_end: str | None
    features: list[str]
    """The same for each ticker."""
    warnings: list[str]
    """About data that a job may not be able to use; the first, at most 200."""
    warning_count: int
    written: bool
    """False if both blobs already existed with the same bytes."""


class JobPreviewModel(TypedDict):
    name: str
    params: Any


class TickerPreviewWindows(TypedDict):
    """run_dl_job: windows of each part."""

    train: int
    validate: int
    calibrate: int
    score: int


class TickerPreview(TypedDict):
    ticker: str
    features: int
    fit_rows: int
    score_rows: int
    folds: NotRequired[int]
    """run_ml_job: walk-forward folds."""
    windows: NotRequired[TickerPreviewWindows]
    """run_dl_job: windows of each part."""
    first_fit: str
    last_fit: str
    mu: bool
    """Whether the ticker would have a current forecast."""


class PooledPreview(TypedDict):
    """One regressor for all tickers."""

    rows: int
    """Rows that some fit learns from, and score rows."""
    fit_rows: int
    columns: int
    bytes: int
    """Size of the matrix in the work folder."""
    fit_bytes: float
    """Estimated memory that the largest fit needs in addition."""
    folds: int


class RefitsPreview(TypedDict):
    """With refit_every or window."""

    fits: int
    """Models to train: regressors with each fold, or each network of an ensemble."""
    blocks: int
    fit_bytes: NotRequired[float]
    """run_dl_job: estimated bytes of the data that the largest network reads."""


class JobPreviewChoice(TypedDict):
    """Fits, or networks, over all candidates and tickers."""

    candidates: int
    fits: int


class CostEstimate(TypedDict):
    """Rough: from measured times for rows and columns."""

    seconds: float
    """Processor time of all fits, without reading."""
    matrix_bytes: float
    """Size of the largest matrix that a fit reads."""


class JobPreview(TypedDict):
    """What a job would do, without training. Counts are rows."""

    model: JobPreviewModel
    window: Window
    tickers: list[TickerPreview]
    """Those that would be fitted. A service lists up to 2 MiB."""
    ticker_count: NotRequired[int]
    """From a service: the number of all of them."""
    failures: list[Failure]
    """Tickers that would fail. A service lists the first 200."""
    failure_counts: NotRequired[CodeCounts]
    """From a service: the number of all by code."""
    pooled: NotRequired[PooledPreview]
    refits: NotRequired[RefitsPreview]
    choice: NotRequired[JobPreviewChoice]
    """Fits, or networks, over all candidates and tickers."""
    estimate: NotRequired[CostEstimate]
    """Absent if the config is switched off, so that nothing would be trained."""
    warnings: list[Warning]
    """Known before training. A service lists the first 200."""
    warning_counts: NotRequired[CodeCounts]
    """From a service: the number of all by code."""


class StoredBlob(TypedDict):
    """Blobs that `POST /v1/prepare` has stored also have their number of tickers and dates, and the first and the last date."""

    name: str
    url: str
    """To submit as an input, or to read."""
    kind: str
    """What the blob contains, by its name."""
    size: int | None
    """Bytes; null if unknown."""
    created_at: str
    """When the blob was stored or replaced. UTC, ISO 8601 with milliseconds."""
    ticker_count: NotRequired[int]
    dates: NotRequired[int]
    """Number of dates."""
    start: NotRequired[str]
    end: NotRequired[str]


class BlobPage(TypedDict):
    blobs: list[StoredBlob]
    next_cursor: str | None
    """Use it as `cursor` to get the next page; null on the last page."""
