import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { smallFactorOf } from "../../contract/output/small-factor.ts";
import { byTicker } from "../../outputs/scored-rows.ts";
import { barsOf, pair, vertical } from "../../view/chart.ts";
import { countedRows, figure, NO_FIGURE, typesetFigures } from "../../view/figures.ts";
import { numbers } from "../../view/table.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { absent, END_BARS, endsOf, panelSection, type ReportPanel } from "../section.ts";
import { histogram } from "../statistics/histogram.ts";

export const forecastsSection = panelSection({
  id: "forecasts",
  title: "Forecasts",
  panels: ({ whole }) => {
    const rows = currentForecasts(whole);
    if (rows.length === 0) return absent("Forecasts", "No ticker has a current forecast.");
    const isFlat = rows.length > 1 && rows.every(({ mu }) => mu === rows[0]!.mu);
    const panel = forecastsPanel(rows, isFlat, whole);
    return endsOf(rows).gap === "" || isFlat ? [panel] : [panel, allPanel(rows)];
  },
});

/** A forecast of as_of; NaN without an end. */
interface Forecast {
  readonly ticker: string;
  readonly mu: number;
  readonly lower: number | undefined;
  readonly upper: number | undefined;
  /** The date of its row, if that is before as_of. */
  readonly olderDate: string | undefined;
  /** For an ensemble, the spread of its members. */
  readonly spread: number | undefined;
}

/** The largest first, then by ticker. */
function currentForecasts({ document, rows }: OutputEvidence): Forecast[] {
  const { mu, mu_dates = {}, mu_spread = {}, window } = document;
  const last = new Map(rows.map((row) => [row.ticker, row]));
  const found = byTicker(mu).map(([ticker, value]): Forecast => {
    const date = Object.hasOwn(mu_dates, ticker) ? mu_dates[ticker] : undefined;
    return {
      ticker,
      mu: value,
      lower: last.get(ticker)?.lower.at(-1),
      upper: last.get(ticker)?.upper.at(-1),
      olderDate: date === window.as_of ? undefined : date,
      spread: Object.hasOwn(mu_spread, ticker) ? mu_spread[ticker] : undefined,
    };
  });
  return found.sort((a, b) => b.mu - a.mu || compareCodePoints(a.ticker, b.ticker));
}

function forecastsPanel(
  rows: readonly Forecast[],
  isFlat: boolean,
  { document }: OutputEvidence,
): ReportPanel {
  const { shown, gap } = endsOf(rows);
  const hasSpread = rows.some(({ spread }) => spread !== undefined);
  const hasOlder = shown.some((row) => row?.olderDate !== undefined);
  const cut = gap === "" || isFlat ? "" : ` The ${END_BARS} largest and the ${END_BARS} smallest are shown.`;
  const seeds = hasSpread
    ? " The spread of an ensemble\u2019s members, in the numbers below, shows how much the seed matters. It does not show how far a forecast may be off."
    : "";
  const bars = (isOlder: boolean) =>
    shown.map((row) => (row !== null && (row.olderDate !== undefined) === isOlder ? row.mu : null));
  const { as_of } = document.window;
  return {
    title: "Forecasts",
    sentence: `${sentenceOf(rows, isFlat, document)}${cut}${seeds}`,
    chart: isFlat
      ? undefined
      : {
          x: { unit: "mu" },
          y: {
            names: shown.map((row) =>
              row === null ? gap : `${row.olderDate === undefined ? "" : "○ "}${row.ticker}`,
            ),
          },
          marks: [
            barsOf("bar", bars(false), hasOlder ? `forecast from ${as_of}` : undefined),
            barsOf("bar second", bars(true), "○ forecast from an earlier date"),
          ],
        },
    numbers: numbers({
      name: "forecasts",
      rows,
      columns: [
        ["Ticker", "text", ({ ticker }) => ticker],
        ["Forecast", "mu", ({ mu }) => mu],
        ["Lower bound", "mu", ({ lower }) => lower],
        ["Upper bound", "mu", ({ upper }) => upper],
        hasSpread && ["Standard deviation of members", "mu", ({ spread }) => spread],
        ["Earlier date", "text", ({ olderDate }) => olderDate ?? NO_FIGURE],
      ],
    }),
  };
}

function sentenceOf(
  rows: readonly Forecast[],
  isFlat: boolean,
  document: OutputEvidence["document"],
): string {
  const [top, bottom] = [rows[0]!, rows.at(-1)!];
  const named = ({ mu, ticker }: Forecast) => `${figure(mu, "mu")} (${ticker})`;
  const up = rows.filter(({ mu }) => mu > 0).length;
  const all = `the forecasts of ${countedRows(rows.length, "ticker")}`;
  const span =
    rows.length === 1
      ? `the forecast of ${top.ticker} is ${figure(top.mu, "mu")}`
      : isFlat
        ? `${all} are all ${figure(top.mu, "mu")}`
        : `${all} range from ${named(bottom)} to ${named(top)}, and ${figure(up, "count")} are above 0`;
  const bounded = rows.filter(({ lower, upper }) => Number.isFinite(lower) && Number.isFinite(upper));
  const holding = bounded.filter(({ lower, upper }) => lower! <= 0 && upper! >= 0).length;
  const doubt =
    bounded.length === 0
      ? ""
      : `; ${holding === bounded.length ? "all" : `${holding} of ${bounded.length}`} intervals contain 0`;
  const older = rows.filter(({ olderDate }) => olderDate !== undefined).length;
  const late = older === 0 ? "" : `; ${countedRows(older, "forecast")} from an earlier date`;
  const small = smallFactorOf(document);
  const end = small === undefined ? "" : ` ${typesetFigures(small)}`;
  return `As of the close of ${document.window.as_of}, ${span}${doubt}${late}.${end}`;
}

function allPanel(rows: readonly Forecast[]): ReportPanel {
  const { edges, counts } = histogram(Float64Array.from(rows, ({ mu }) => mu));
  return {
    title: "All forecasts",
    sentence: `All ${countedRows(rows.length, "forecast")} by size.`,
    chart: {
      x: { unit: "mu", ticks: 5, within: [0] },
      y: { unit: "count", ticks: 3 },
      marks: [
        {
          kind: "bar edged",
          shape: "boxes",
          points: Array.from(counts, (count, i) => pair(edges[i]!, count, edges[i + 1]!, 0)).flat(),
          meaning: "tickers",
        },
        vertical(0, "a forecast of 0"),
      ],
    },
  };
}
