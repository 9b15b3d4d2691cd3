import type { Metrics } from "../../contract/output/metrics-schemas.ts";
import { mean } from "../../evaluate/statistics.ts";
import type { ScoredRows } from "../../outputs/scored-rows.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { escapeShortText, escapeText } from "../charts/plot.ts";
import { sparkLine } from "../charts/spark-line.ts";
import { type TickerSeries, tickerChart } from "../charts/ticker-chart.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import type { Report, ReportedOutput } from "../evidence/reported-outputs.ts";
import { keyLine } from "../panels/panel.ts";
import { type Part, type Section, scoreRowsNote } from "../panels/section.ts";
import { countOf, type IntervalOutcomes } from "../statistics/interval-outcomes.ts";

/** The table of tickers; each row opens to the forecasts of its ticker. */
export const tickersSection: Section = {
  id: "tickers",
  title: "Tickers",
  html: (report) => `${scoreRowsNote(report)}${tablesHtml(report)}`,
};

function tablesHtml({ outputs }: Report): string {
  return outputs.map((output) => tableHtml(output, outputs.length > 1)).join("\n");
}

/** Tickers by code point. */
interface TickerTable {
  readonly finding: string;
  readonly rows: readonly TickerRow[];
}

interface TickerRow {
  readonly ticker: string;
  readonly mu: number | null;
  /** Labelled score rows. */
  readonly n: number;
  readonly rmse: number | null;
  readonly hitRate: number | null;
  readonly r2Zero: number | null;
  readonly r2Mean: number | null;
  readonly correlation: number | null;
  readonly coverage: number | null;
  readonly meanWidth: number | null;
  /** Null if no labelled row has an interval, like coverage and meanWidth. */
  readonly misses: number | null;
  /** Running sum of squared returns minus squared errors, shape (n): what the forecasts gained over the zero forecast. */
  readonly gain: Float64Array;
  readonly series: TickerSeries;
  readonly finding: string;
}

/** The table of tickers, each with its forecasts. */
export function tickerTable(evidence: OutputEvidence): Part<TickerTable> {
  const rows = evidence.rows.map((row, i) => tickerRow(evidence, row, evidence.outcomes[i]!));
  if (rows.length === 0) return { absent: "No ticker has a forecast." };
  const better = rows.filter(({ r2Zero }) => r2Zero !== null && r2Zero > 0).length;
  const judged = rows.filter(({ r2Zero }) => r2Zero !== null).length;
  const finding =
    judged === 0
      ? `${countedRows(rows.length, "ticker")}, none with realised returns yet.`
      : `Forecasts beat the zero forecast by R² for ${figure(better, "count")} of ${countedRows(judged, "ticker")}.`;
  return { data: { rows, finding } };
}

function tickerRow(
  { document, table }: OutputEvidence,
  series: ScoredRows,
  covered: IntervalOutcomes,
): TickerRow {
  const { ticker } = series;
  const metrics = table.by_ticker.get(ticker)!;
  const missed = covered.side.length - countOf(covered.side, 0);
  const hasEnds = covered.days.length > 0;
  return {
    ticker,
    mu: Object.hasOwn(document.mu, ticker) ? document.mu[ticker]! : null,
    n: metrics.n,
    rmse: metrics.rmse,
    hitRate: metrics.hit_rate,
    r2Zero: metrics.r2_zero,
    r2Mean: metrics.r2_mean,
    correlation: metrics.correlation,
    coverage: hasEnds ? 1 - missed / covered.days.length : null,
    meanWidth: hasEnds ? mean(covered.width) : null,
    misses: hasEnds ? missed : null,
    gain: gainOverZero(series),
    series,
    finding: findingOf(ticker, metrics, covered, missed),
  };
}

/** The running sum over the labelled rows; beyond the range of a float64 it is empty. */
export function gainOverZero({
  predicted,
  realised,
}: Pick<ScoredRows, "predicted" | "realised">): Float64Array {
  const gains: number[] = [];
  let sum = 0;
  for (const [i, y] of realised.entries()) {
    if (Number.isNaN(y)) continue;
    sum += y ** 2 - (y - predicted[i]!) ** 2;
    gains.push(sum);
  }
  return Number.isFinite(sum) ? Float64Array.from(gains) : new Float64Array(0);
}

function findingOf(
  ticker: string,
  { n, r2_zero }: Metrics,
  { days }: IntervalOutcomes,
  missed: number,
): string {
  if (n === 0) return `${ticker} has no realised return yet.`;
  const held =
    days.length === 0
      ? ""
      : `; ${figure(missed, "count")} of ${countedRows(days.length, "return")} fell outside the intervals`;
  return `${ticker}: R² against zero ${figure(r2_zero, "r2")} over ${countedRows(n, "row")}${held}.`;
}

function tableHtml({ common, name }: ReportedOutput, isAmongSeveral: boolean): string {
  const { data, absent } = tickerTable(common);
  const heading = isAmongSeveral ? `<h3><bdi>${escapeText(name)}</bdi></h3>` : "";
  const table = data === undefined ? `<p>${escapeText(absent)}</p>` : tickersHtml(data, name);
  return `<div class="table">${heading}${table}</div>`;
}

/** A column of the table: its content, and its sort key. */
interface Column {
  readonly name: string;
  /** HTML. */
  readonly text: (row: TickerRow) => string;
  readonly order: (row: TickerRow) => number | null;
  /** Hidden on narrow screens. */
  readonly isSpare: boolean;
}

const COLUMNS: readonly Column[] = [
  { name: "Forecast", text: ({ mu }) => figure(mu, "mu"), order: ({ mu }) => mu, isSpare: false },
  {
    name: "R² against zero",
    text: ({ r2Zero }) => figure(r2Zero, "r2"),
    order: ({ r2Zero }) => r2Zero,
    isSpare: false,
  },
  {
    name: "R² against mean",
    text: ({ r2Mean }) => figure(r2Mean, "r2"),
    order: ({ r2Mean }) => r2Mean,
    isSpare: true,
  },
  {
    name: "Correlation",
    text: (row) => figure(row.correlation, "ic"),
    order: (row) => row.correlation,
    isSpare: true,
  },
  {
    name: "Hit rate",
    text: ({ hitRate }) => figure(hitRate, "coverage"),
    order: ({ hitRate }) => hitRate,
    isSpare: true,
  },
  { name: "RMSE", text: ({ rmse }) => figure(rmse, "rmse"), order: ({ rmse }) => rmse, isSpare: true },
  {
    name: "Coverage",
    text: ({ coverage }) => figure(coverage, "coverage"),
    order: ({ coverage }) => coverage,
    isSpare: false,
  },
  {
    name: "Misses",
    text: ({ misses }) => figure(misses, "count"),
    order: ({ misses }) => misses,
    isSpare: true,
  },
  {
    name: "Rows",
    text: ({ n }) => figure(n, "count"),
    order: ({ n }) => (n === 0 ? null : n),
    isSpare: true,
  },
  {
    name: "Gain over zero",
    text: ({ gain }) => sparkLine(gain),
    order: ({ gain }) => gain.at(-1) ?? null,
    isSpare: false,
  },
];

/** The number of dates to draw, shared by all tickers of a page so that a page with many tickers stays small. */
const ALL_COLUMNS = 30_000;
const MAX_COLUMNS = 500;
const MIN_COLUMNS = 50;

/** In characters; the opened row has the whole name. */
const MAX_NAME_LENGTH = 40;

/** All tickers. Each row opens to its forecasts against realised returns. */
function tickersHtml({ finding, rows }: TickerTable, owner: string): string {
  const dates = Math.max(MIN_COLUMNS, Math.min(MAX_COLUMNS, Math.floor(ALL_COLUMNS / rows.length)));
  // What no ticker has, as coverage without intervals, has no column.
  const columns = COLUMNS.filter(({ order }) => rows.some((row) => order(row) !== null));
  const head = columns.map(
    ({ name, isSpare }) => `<th scope="col" aria-sort="none"${isSpare ? ' class="spare"' : ""}>${name}</th>`,
  );
  const hasReturns = rows.some(({ n }) => n > 0);
  const key = keyLine([
    ["line", "forecast"],
    ["band", "interval"],
    ...(hasReturns
      ? ([
          ["return", "realised return"],
          ["dot miss", "return outside its interval"],
        ] as const)
      : []),
  ]);
  const meanings = hasReturns
    ? " Open a ticker to compare its forecasts with its realised returns. The last column sums, over the dates, by how much its squared errors were smaller than those of the zero forecast."
    : "";
  return `<p>${escapeText(finding)}${meanings}</p>
${key}
<p class="search" hidden><label>Search for a ticker <input type="search" autocomplete="off" spellcheck="false"></label> <span role="status"></span></p>
<div class="list" tabindex="0" role="group" aria-label="Tickers of ${escapeText(owner)}"><table class="tickers"><caption class="unseen">Tickers of <bdi>${escapeText(owner)}</bdi></caption><thead><tr><th scope="col" aria-sort="ascending">Ticker</th>${head.join("")}</tr></thead>
${rows.map((row) => rowHtml(row, columns, dates)).join("\n")}
</table></div>`;
}

/** @param dates the number of dates that the chart draws. */
function rowHtml(row: TickerRow, columns: readonly Column[], dates: number): string {
  const cells = columns.map(({ text, order, isSpare }) => {
    const value = order(row);
    const sort = value === null ? "" : ` data-v="${Number(value.toPrecision(6))}"`;
    return `<td${isSpare ? ' class="spare"' : ""}${sort}>${text(row)}</td>`;
  });
  return `<tbody><tr><th scope="row"><details><summary><bdi>${escapeShortText(row.ticker, MAX_NAME_LENGTH)}</bdi></summary></details></th>${cells.join("")}</tr>
<tr class="more"><td colspan="${columns.length + 1}"><p>${escapeText(row.finding)}</p>${tickerChart(row.finding, row.series, dates)}</td></tr></tbody>`;
}
