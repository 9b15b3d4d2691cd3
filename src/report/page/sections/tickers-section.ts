import { escapeShortText, escapeText } from "../../charts/escape-text.ts";
import { tickerChart } from "../../charts/ticker-chart.ts";
import { figure } from "../../data/figures.ts";
import type { TickerRow, TickerTable } from "../../data/section-data.ts";
import { keyLine } from "../panel.ts";

/** A column of the table: its text, and its sort key. */
interface Column {
  readonly name: string;
  readonly text: (row: TickerRow) => string;
  readonly order: (row: TickerRow) => number | null;
  /** Hidden on narrow screens. */
  readonly isSpare: boolean;
}

const COLUMNS: readonly Column[] = [
  { name: "Forecast", text: ({ mu }) => figure(mu, "return"), order: ({ mu }) => mu, isSpare: false },
  {
    name: "R² against zero",
    text: ({ r2Zero }) => figure(r2Zero, "percent"),
    order: ({ r2Zero }) => r2Zero,
    isSpare: false,
  },
  {
    name: "R² against mean",
    text: ({ r2Mean }) => figure(r2Mean, "percent"),
    order: ({ r2Mean }) => r2Mean,
    isSpare: true,
  },
  {
    name: "Correlation",
    text: (row) => figure(row.correlation, "number"),
    order: (row) => row.correlation,
    isSpare: true,
  },
  {
    name: "Hit rate",
    text: ({ hitRate }) => figure(hitRate, "share"),
    order: ({ hitRate }) => hitRate,
    isSpare: true,
  },
  { name: "RMSE", text: ({ rmse }) => figure(rmse, "share"), order: ({ rmse }) => rmse, isSpare: true },
  {
    name: "Coverage",
    text: ({ coverage }) => figure(coverage, "share"),
    order: ({ coverage }) => coverage,
    isSpare: false,
  },
  {
    name: "Misses",
    text: ({ misses }) => figure(misses, "count"),
    order: ({ misses }) => misses,
    isSpare: true,
  },
  { name: "Rows", text: ({ n }) => figure(n, "count"), order: ({ n }) => n, isSpare: true },
];

/** The number of dates to draw, shared by all tickers of a page so that a page with many tickers stays small. */
const ALL_COLUMNS = 40_000;
const MAX_COLUMNS = 500;
const MIN_COLUMNS = 50;

/** In characters; the opened row has the whole name. */
const MAX_NAME_LENGTH = 40;

/** All tickers. Each row opens to its forecasts against realised returns. */
export function tickersHtml({ finding, rows }: TickerTable, owner: string): string {
  const columns = Math.max(MIN_COLUMNS, Math.min(MAX_COLUMNS, Math.floor(ALL_COLUMNS / rows.length)));
  const head = COLUMNS.map(
    ({ name, isSpare }) => `<th scope="col" aria-sort="none"${isSpare ? ' class="spare"' : ""}>${name}</th>`,
  );
  const key = keyLine([
    ["line", "forecast"],
    ["band", "interval"],
    ["return", "realised return"],
    ["dot miss", "return outside its interval"],
  ]);
  return `<p>${escapeText(finding)} Open a ticker to compare its forecasts with its realised returns.</p>
${key}
<p class="search" hidden><label>Search for a ticker <input type="search" autocomplete="off" spellcheck="false"></label> <span role="status"></span></p>
<table class="tickers"><caption class="unseen">Tickers of <bdi>${escapeText(owner)}</bdi></caption><thead><tr><th scope="col" aria-sort="ascending">Ticker</th>${head.join("")}</tr></thead>
${rows.map((row) => rowHtml(row, columns)).join("\n")}
</table>`;
}

function rowHtml(row: TickerRow, columns: number): string {
  const cells = COLUMNS.map(({ text, order, isSpare }) => {
    const value = order(row);
    const sort = value === null ? "" : ` data-v="${Number(value.toPrecision(6))}"`;
    return `<td${isSpare ? ' class="spare"' : ""}${sort}>${text(row)}</td>`;
  });
  return `<tbody><tr><th scope="row"><details><summary><bdi>${escapeShortText(row.ticker, MAX_NAME_LENGTH)}</bdi></summary></details></th>${cells.join("")}</tr>
<tr class="more"><td colspan="${COLUMNS.length + 1}"><p>${escapeText(row.finding)}</p>${tickerChart(row.finding, row.series, columns)}</td></tr></tbody>`;
}
