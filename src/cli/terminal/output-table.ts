import { counted, printable } from "../../contract/errors/wording.ts";
import { closeName, laterOrder, orderBands, verdictFigures } from "../../contract/output/later-close.ts";
import { type Band, bandFromT, datesQuantile, meanMethod } from "../../contract/output/test-quantile.ts";
import type { FindingState, JudgedRows, RowsVerdict, Verdict } from "../../contract/output/verdict.ts";
import type { OutputSummary } from "../../outputs/output-summary.ts";

export interface OutputColumn {
  readonly name: string;
  readonly output: Pick<OutputSummary, "mu" | "window" | "metrics" | "refits">;
  /** Undefined if an output has no ticker. */
  readonly verdict: Verdict | undefined;
  /** The standard error of the hit rate with dates as units; null if there are too few dates. */
  readonly hitRateError: number | null;
  /** Further rows of the column, the same for each output. */
  readonly more?: readonly Cell[];
}

type Cell = readonly [label: string, value: string];

/**
 * The quality of outputs, one column each, as text for a terminal: figures of the score rows, or of the out-of-fold rows of a daily run, beside those that any model has to
 * beat.
 */
export function outputTable(outputs: readonly OutputColumn[]): string {
  const hasRefits = outputs.some(({ output }) => output.refits !== undefined);
  const closes = laterCloses(outputs.map(({ output }) => ordersOf(output)));
  const isOfLabels = (close: number) =>
    outputs.every(({ output }) => [undefined, close].includes(ordersOf(output)[0]?.delay));
  const columns = outputs.map((column) => [
    ...cellsOf(column),
    ...closes.flatMap((delay) => laterCells(ordersOf(column.output), delay, isOfLabels(delay))),
    ...(closes.length === 0 ? [] : beyondCells(column.output)),
    ...(hasRefits ? [refitsCell(column.output)] : []),
    ...verdictCells(column.verdict),
    ...(column.more ?? []),
  ]);
  const labels = columns[0]!.map(([label]) => label);
  const rows = labels.map((label, i) => [label, ...columns.map((column) => column[i]![1])]);
  return table(["", ...outputs.map(({ name }) => name)], rows);
}

function cellsOf({ output: { mu, window, metrics }, hitRateError, verdict }: OutputColumn): Cell[] {
  const { intervals, baselines } = metrics;
  const judged = judgedTable(metrics);
  const { cross_section: across, pooled } = metrics[judged]!;
  const isOverTime = verdict?.judged.find(({ rows }) => rows === judged)?.order.form === "time_series";
  const [zero, mean] = [baselines.zero[judged], baselines.mean[judged]];
  return [
    [
      "tickers with a forecast",
      `${Object.keys(mu).length} as of ${window.as_of}${window.delay === undefined ? "" : `, delay ${window.delay}`}`,
    ],
    ["rows with labels", `${pooled.n} ${ROWS[judged]}`],
    ["mean RankIC", figure(isOverTime ? null : across.rank_ic_mean)],
    ["hit rate", percent(pooled.hit_rate)],
    ["  standard error, by date", percent(hitRateError)],
    ["  share of up days", percent(pooled.up_share)],
    ["  historical-mean forecast", percent(mean?.pooled.hit_rate)],
    ["RMSE", figure(pooled.rmse)],
    ["  zero forecast", figure(zero?.pooled.rmse)],
    ["nominal coverage", percent(intervals && 1 - intervals.alpha)],
    ["actual coverage", percent(coverageOf(intervals, judged))],
    ["  with split intervals", percent(intervals?.other_methods?.split?.pooled.coverage)],
  ];
}

/** The table of the score rows or, if none has a label yet, as in a daily run, that of the out-of-fold rows. */
export function judgedTable({ score, out_of_fold }: OutputSummary["metrics"]): "score" | "out_of_fold" {
  return score.pooled.n === 0 && out_of_fold !== undefined ? "out_of_fold" : "score";
}

/** Out-of-fold rows have no intervals; the same method covers them one after the other. */
function coverageOf(intervals: OutputSummary["metrics"]["intervals"], judged: "score" | "out_of_fold") {
  return judged === "score" ? intervals?.pooled.coverage : intervals?.pooled.prequential?.coverage;
}

type Orders = NonNullable<OutputSummary["metrics"]["score"]["by_delay"]>;

/** None for an output of an older version. */
function ordersOf({ metrics }: OutputColumn["output"]): Orders {
  return metrics[judgedTable(metrics)]!.by_delay ?? [];
}

/** The first close after the forecasts of each output, which depends on the delay of its labels. */
function laterCloses(outputs: readonly Orders[]): number[] {
  const delays = outputs.flatMap((orders) => laterOrder(orders)?.delay ?? []);
  return [...new Set(delays)].sort((a, b) => a - b);
}

/** What the order is worth if it is traded at a close after the forecasts. */
function laterCells(orders: Orders, delay: number, isOfLabels: boolean): Cell[] {
  const order = orders.find((each) => each.delay === delay);
  const isOverTime = order?.order_mean !== undefined;
  const value = (isOverTime ? order.order_mean : order?.ic_mean) ?? null;
  const net = order?.net_5bp ?? null;
  const bands = order && orderBands(order);
  const text = isOverTime ? `${figure(value)} deviations over time` : `IC ${figure(value)}`;
  return [
    [
      `order ${closeName(delay)}${isOfLabels ? " (where the labels begin)" : ""}`,
      value === null ? "-" : text,
    ],
    bandCell(bands?.order, figure),
    ["  net of 5 bp a side", net === null ? "-" : `${net.toFixed(1)} bp a day`],
    bandCell(bands?.net, (bp) => bp.toFixed(1)),
    ["  replaced each day", percent(order?.turnover)],
  ];
}

function bandCell(band: Band | null | undefined, text: (value: number) => string): Cell {
  return ["  90 % band", band == null ? "-" : `${text(band.low)} to ${text(band.high)}`];
}

/** The IC that exposures to prices leave. */
function beyondCells({ metrics }: OutputColumn["output"]): Cell[] {
  const { dates = 0, residual } = metrics[judgedTable(metrics)]!.exposures ?? {};
  const ic = residual?.ic_mean ?? null;
  const band = bandFromT(ic, residual?.ic_t, datesQuantile(meanMethod(dates), dates, 0.95));
  return [["mean IC beyond exposures", figure(ic)], bandCell(band, figure)];
}

/** How many successive sets of models made the forecasts. */
function refitsCell({ refits }: OutputColumn["output"]): Cell {
  const [first, ...later] = refits?.blocks ?? [];
  if (first === undefined || later.length === 0) return ["models refitted", "-"];
  const last = later.at(-1)!;
  return ["models refitted", `${counted(later.length, "time")}, last on ${last.start}`];
}

/** The headline of the verdict, and the evidence for it. */
function verdictCells(verdict: Verdict | undefined): Cell[] {
  const judged = verdict?.judged[0];
  const dates = judged?.sizes.dates.toLocaleString("en-US");
  return [
    ["verdict", printable(verdict?.title ?? "-")],
    ["  judged on", judged === undefined ? "-" : `${nameOf(ROWS, judged.rows)}, ${dates} dates`],
    ["  order", orderText(judged)],
    ["    IC", icText(judged && verdictFigures(judged).ic)],
    ["    90 % band", bandText(judged?.order)],
    ["  sizes", stateText(SKILL_STATES, judged?.sizes.state)],
    ["    R²", judged === undefined ? "-" : r2Text(verdictFigures(judged).r2)],
    ["  intervals", stateText(INTERVAL_STATES, judged?.intervals?.state)],
  ];
}

type Names = Readonly<Record<string, string>>;

const ROWS: Names = {
  score: "score",
  out_of_fold: "out of fold",
  calibration: "calibration",
  validation: "validation",
} satisfies Record<JudgedRows, string>;

const SKILL_STATES: Names = {
  evidence: "evidence",
  none: "no evidence",
  worse: "worse",
  too_few: "too few dates",
} satisfies Record<FindingState, string>;

const INTERVAL_STATES: Names = {
  evidence: "hold overall",
  none: "too wide",
  worse: "too narrow",
  too_few: "too few dates",
} satisfies Record<FindingState, string>;

function stateText(states: Names, state: string | undefined): string {
  return state === undefined ? "-" : nameOf(states, state);
}

/** The order, and the dates that it was judged on if they are not those of the sizes. */
function orderText(judged: RowsVerdict | undefined): string {
  if (judged === undefined) return "-";
  const { order, sizes } = judged;
  const isOfMean = order.state === "none" && order.t !== null && order.t >= (order.quantile ?? Infinity);
  const isOther = order.dates !== sizes.dates && order.state !== "too_few";
  return `${isOfMean ? "none beyond the training mean" : stateText(SKILL_STATES, order.state)}${overTime(order)}${isOther ? ` (${counted(order.dates, "date")})` : ""}`;
}

/** With few tickers, there is no IC: the mean return on the side of the forecast; in outputs of 0.2.0 a correlation. */
function overTime(order: RowsVerdict["order"] | undefined): string {
  if (order?.form !== "time_series" || order.figure === null || order.state === "too_few") return "";
  const text = order.figure.toFixed(3);
  return order.method === "student" ? `, over time ${text} deviations` : `, correlation over time ${text}`;
}

/** The band of the IC outside which a one-sided test at 5 % finds it. */
function bandText(order: RowsVerdict["order"] | undefined): string {
  const band = order?.form === "cross_section" ? bandFromT(order.figure, order.t, order.quantile) : null;
  return band === null ? "-" : `${icText(band.low)} to ${icText(band.high)}`;
}

function icText(ic: number | null | undefined): string {
  return ic == null ? "-" : ic.toFixed(3);
}

function r2Text(r2: number | null): string {
  return r2 === null ? "-" : `${(100 * r2).toFixed(2)} %`;
}

/** How a table names a value of the output; a value of a later version or another program is shown unchanged. */
function nameOf(names: Names, value: string): string {
  return Object.hasOwn(names, value) ? names[value]! : printable(value);
}

function percent(share: number | null | undefined): string {
  return share == null ? "-" : `${(100 * share).toFixed(1)} %`;
}

function figure(value: number | null | undefined): string {
  return value == null ? "-" : value.toFixed(4);
}

/** A table in plain text: the first column left-aligned, the others right-aligned. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join("  ")
      .trimEnd();
  return [line(header), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}
