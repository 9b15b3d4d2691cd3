import { counted, printable } from "../../contract/errors/wording.ts";
import { closeName, laterOrder, orderBands, verdictFigures } from "../../contract/output/later-close.ts";
import type { DelayedOrder } from "../../contract/output/metrics-schemas.ts";
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
  /** Further rows, the same for each output. */
  readonly more?: readonly (readonly [label: string, value: string])[];
}

type Cell = readonly [label: string, value: string];

/** What outputs are worth, one column each: figures of the judged rows, beside those that any model has to beat. */
export function outputTable(columns: readonly OutputColumn[]): string {
  const delays = columns.flatMap(({ output }) => laterOrder(ordersOf(output))?.delay ?? []);
  const closes = [...new Set(delays)].sort((a, b) => a - b);
  // Labels with a delay begin at the first close that is listed.
  const ofLabels = closes.find((close) =>
    columns.every(({ output }) => [undefined, close].includes(ordersOf(output)[0]?.delay)),
  );
  const hasRefits = columns.some(({ output }) => output.refits !== undefined);
  const cells = columns.map(({ output, hitRateError, verdict, more = [] }) => [
    ...figureCells(output, hitRateError, verdict),
    ...closes.flatMap((close) => laterCells(ordersOf(output), close, close === ofLabels)),
    ...(closes.length > 0 ? beyondCells(output) : []),
    ...(hasRefits ? [refitsCell(output)] : []),
    ["verdict", printable(verdict?.title ?? "-")] as const,
    ...verdictCells(verdict?.judged[0]),
    ...more,
  ]);
  const rows = cells[0]!.map(([label], i) => [label, ...cells.map((column) => column[i]![1])]);
  return table(["", ...columns.map(({ name }) => name)], rows);
}

type Output = OutputColumn["output"];

/** The table of the score rows or, if none has a label yet, as in a daily run, that of the out-of-fold rows. */
export function judgedTable({ score, out_of_fold }: Output["metrics"]): "score" | "out_of_fold" {
  return score.pooled.n === 0 && out_of_fold !== undefined ? "out_of_fold" : "score";
}

/** None for an output of an older version. */
function ordersOf({ metrics }: Output): readonly DelayedOrder[] {
  return metrics[judgedTable(metrics)]!.by_delay ?? [];
}

function figureCells(
  { mu, window: { as_of, delay }, metrics }: Output,
  hitRateError: number | null,
  verdict: Verdict | undefined,
): Cell[] {
  const { intervals, baselines } = metrics;
  const judged = judgedTable(metrics);
  const { cross_section: across, pooled } = metrics[judged]!;
  const isOverTime = verdict?.judged.find(({ rows }) => rows === judged)?.order.form === "time_series";
  // Out-of-fold rows have no intervals; the same method covers them one after the other.
  const covered = judged === "score" ? intervals?.pooled : intervals?.pooled.prequential;
  const dates = `${as_of}${delay === undefined ? "" : `, delay ${delay}`}`;
  return [
    ["tickers with a forecast", `${Object.keys(mu).length} as of ${dates}`],
    ["rows with labels", `${pooled.n} ${ROWS[judged]}`],
    ["mean RankIC", figure(isOverTime ? null : across.rank_ic_mean)],
    ["hit rate", percent(pooled.hit_rate)],
    ["  standard error, by date", percent(hitRateError)],
    ["  share of up days", percent(pooled.up_share)],
    ["  historical-mean forecast", percent(baselines.mean[judged]?.pooled.hit_rate)],
    ["RMSE", figure(pooled.rmse)],
    ["  zero forecast", figure(baselines.zero[judged]?.pooled.rmse)],
    ["nominal coverage", percent(intervals && 1 - intervals.alpha)],
    ["actual coverage", percent(covered?.coverage)],
    ["  with split intervals", percent(intervals?.other_methods?.split?.pooled.coverage)],
  ];
}

/** What the order is worth if it is traded at a close after the forecasts. */
function laterCells(orders: readonly DelayedOrder[], close: number, isOfLabels: boolean): Cell[] {
  const order = orders.find(({ delay }) => delay === close);
  const isOverTime = order?.order_mean !== undefined;
  const value = isOverTime ? order.order_mean : order?.ic_mean;
  const text = isOverTime ? `${figure(value)} deviations over time` : `IC ${figure(value)}`;
  const bands = order && orderBands(order);
  const net = order?.net_5bp;
  return [
    [`order ${closeName(close)}${isOfLabels ? " (where the labels begin)" : ""}`, value == null ? "-" : text],
    ["  90 % band", bandText(bands?.order, figure)],
    ["  net of 5 bp a side", net == null ? "-" : `${net.toFixed(1)} bp a day`],
    ["  90 % band", bandText(bands?.net, (bp) => bp.toFixed(1))],
    ["  replaced each day", percent(order?.turnover)],
  ];
}

/** The IC that exposures to prices leave. */
function beyondCells({ metrics }: Output): Cell[] {
  const { dates = 0, residual } = metrics[judgedTable(metrics)]!.exposures ?? {};
  const ic = residual?.ic_mean ?? null;
  const band = bandFromT(ic, residual?.ic_t, datesQuantile(meanMethod(dates), dates, 0.95));
  return [
    ["mean IC beyond exposures", figure(ic)],
    ["  90 % band", bandText(band, figure)],
  ];
}

/** How many successive sets of models made the forecasts. */
function refitsCell({ refits }: Output): Cell {
  const later = refits?.blocks.slice(1) ?? [];
  const text = `${counted(later.length, "time")}, last on ${later.at(-1)?.start}`;
  return ["models refitted", later.length === 0 ? "-" : text];
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

/** How a table names a value of the output; a value of a later version or another program is shown unchanged. */
function nameOf(names: Names, value: string): string {
  return Object.hasOwn(names, value) ? names[value]! : printable(value);
}

/** The evidence for a verdict. */
function verdictCells(judged: RowsVerdict | undefined): Cell[] {
  const labels = ["judged on", "order", "  IC", "  90 % band", "sizes", "  R²", "intervals"];
  if (judged === undefined) return labels.map((label) => [`  ${label}`, "-"]);
  const { rows, order, sizes, intervals } = judged;
  const { ic, r2 } = verdictFigures(judged);
  // Outside of it, a one-sided test at 5 % finds the IC.
  const band = order.form === "cross_section" ? bandFromT(order.figure, order.t, order.quantile) : null;
  const texts = [
    `${nameOf(ROWS, rows)}, ${sizes.dates.toLocaleString("en-US")} dates`,
    orderText(judged),
    icText(ic),
    bandText(band, icText),
    nameOf(SKILL_STATES, sizes.state),
    r2 === null ? "-" : `${(100 * r2).toFixed(2)} %`,
    intervals ? nameOf(INTERVAL_STATES, intervals.state) : "-",
  ];
  return labels.map((label, i) => [`  ${label}`, texts[i]!]);
}

/** The order, and the dates that it was judged on if they are not those of the sizes. */
function orderText({ order, sizes }: RowsVerdict): string {
  const { state, form, figure: value, method, t, quantile, dates } = order;
  const isOfMean = state === "none" && t !== null && t >= (quantile ?? Infinity);
  const parts = [isOfMean ? "none beyond the training mean" : nameOf(SKILL_STATES, state)];
  if (state === "too_few") return parts[0]!;
  // With few tickers, there is no IC: the mean return on the side of the forecast; in outputs of 0.2.0 a correlation.
  if (form === "time_series" && value !== null) {
    const text = value.toFixed(3);
    parts.push(method === "student" ? `over time ${text} deviations` : `correlation over time ${text}`);
  }
  return parts.join(", ") + (dates === sizes.dates ? "" : ` (${counted(dates, "date")})`);
}

function bandText(band: Band | null | undefined, text: (value: number) => string): string {
  return band == null ? "-" : `${text(band.low)} to ${text(band.high)}`;
}

function icText(ic: number | null): string {
  return ic === null ? "-" : ic.toFixed(3);
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
