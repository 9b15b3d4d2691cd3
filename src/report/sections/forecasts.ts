import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { smallFactorOf } from "../../contract/output/small-factor.ts";
import { byTicker } from "../../outputs/scored-rows.ts";
import { countedRows, figure, NO_FIGURE, typesetFigures } from "../../view/figures.ts";
import { histogramChart } from "../charts/column-chart.ts";
import { rowChart } from "../charts/row-chart.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { END_BARS, ends, keyLine, numbersTable, type Panel } from "../panels/panel.ts";
import { chartSection, type Part, panelsOf } from "../panels/section.ts";
import { type Histogram, histogram } from "../statistics/histogram.ts";

/** The current forecasts, with and without their intervals. */
export const forecastsSection = chartSection({
  id: "forecasts",
  title: "Forecasts",
  panels: ({ whole }) => panelsOf("Forecasts", muOf(whole), muPanels),
});

/** The forecasts of as_of, sorted by size, the largest first, then by ticker. */
interface Mu {
  readonly finding: string;
  readonly asOf: string;
  readonly bars: readonly MuBar[];
  /** Over all mu. */
  readonly histogram: Histogram;
}

interface MuBar {
  readonly ticker: string;
  readonly mu: number;
  /** Null without an end. */
  readonly lower: number | null;
  readonly upper: number | null;
  /** The date of its row, if that is before as_of. */
  readonly olderDate: string | undefined;
  /** For an ensemble, the spread of its members, log-return. */
  readonly spread: number | undefined;
}

/** The forecasts of as_of. */
export function muOf({ document, rows }: OutputEvidence): Part<Mu> {
  const { mu, mu_dates, mu_spread, window } = document;
  const ends = new Map(rows.map((row) => [row.ticker, row]));
  const bars = byTicker(mu).map(([ticker, value]): MuBar => {
    const row = ends.get(ticker);
    const date = mu_dates !== undefined && Object.hasOwn(mu_dates, ticker) ? mu_dates[ticker] : undefined;
    return {
      ticker,
      mu: value,
      lower: endOf(row?.lower.at(-1)),
      upper: endOf(row?.upper.at(-1)),
      olderDate: date === window.as_of ? undefined : date,
      spread: mu_spread !== undefined && Object.hasOwn(mu_spread, ticker) ? mu_spread[ticker] : undefined,
    };
  });
  if (bars.length === 0) return { absent: "No ticker has a current forecast." };
  bars.sort((a, b) => b.mu - a.mu || compareCodePoints(a.ticker, b.ticker));
  const small = smallFactorOf(document);
  const data = { asOf: window.as_of, bars, histogram: histogram(Float64Array.from(bars, (bar) => bar.mu)) };
  return { data: { ...data, finding: findingOf(bars, window.as_of, small && typesetFigures(small)) } };
}

function endOf(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

/** @param small what to know if shrinkage makes all of them very small. */
function findingOf(bars: readonly MuBar[], asOf: string, small: string | undefined): string {
  const [top, bottom] = [bars[0]!, bars.at(-1)!];
  const up = bars.filter(({ mu }) => mu > 0).length;
  const older = bars.filter(({ olderDate }) => olderDate !== undefined).length;
  const span =
    bars.length === 1
      ? `the forecast of ${top.ticker} is ${figure(top.mu, "mu")}`
      : areEqual(bars)
        ? `the forecasts of ${countedRows(bars.length, "ticker")} are all ${figure(top.mu, "mu")}`
        : `the forecasts of ${countedRows(bars.length, "ticker")} range from ${figure(bottom.mu, "mu")} (${bottom.ticker}) to ${figure(top.mu, "mu")} (${top.ticker}), and ${figure(up, "count")} are above 0`;
  const doubt = intervalsAtZero(bars);
  const late = older === 0 ? "" : `; ${countedRows(older, "forecast")} from an earlier date`;
  return `As of the close of ${asOf}, ${span}${doubt}${late}.${small === undefined ? "" : ` ${small}`}`;
}

function areEqual(bars: readonly MuBar[]): boolean {
  return bars.every(({ mu }) => mu === bars[0]!.mu);
}

/** How many intervals contain 0. */
function intervalsAtZero(bars: readonly MuBar[]): string {
  const bounded = bars.filter(({ lower, upper }) => lower !== null && upper !== null);
  if (bounded.length === 0) return "";
  const holding = bounded.filter(({ lower, upper }) => lower! <= 0 && upper! >= 0).length;
  const all =
    holding === bounded.length ? "all" : `${figure(holding, "count")} of ${figure(bounded.length, "count")}`;
  return `; ${all} intervals contain 0`;
}

/** The forecasts, with and without their intervals. */
function muPanels({ finding, bars, asOf, histogram: counts }: Mu): Panel[] {
  const { shown, gap } = ends(bars);
  const isFlat = bars.length > 1 && areEqual(bars);
  const cut =
    gap !== undefined && !isFlat ? ` The ${END_BARS} largest and the ${END_BARS} smallest are shown.` : "";
  const seeds = bars.some(({ spread }) => spread !== undefined)
    ? " The spread of an ensemble's members, in the numbers below, shows how much the seed matters. It does not show how far a forecast may be off."
    : "";
  const hasOlder = !isFlat && shown.some(({ olderDate }) => olderDate !== undefined);
  const inCard = (label: string) =>
    gap === undefined || isFlat ? {} : { tab: { card: "forecasts", label } };
  const panels: Panel[] = [
    {
      ...inCard("Forecasts"),
      title: "Forecasts",
      finding: `${finding}${cut}${seeds}`,
      chart: isFlat ? "" : rowChart({ finding, unit: "mu", rows: shown.map(bareRow), gap }),
      ...(hasOlder
        ? {
            key: keyLine([
              ["bar", `forecast from ${asOf}`],
              ["bar second", "○ forecast from an earlier date"],
            ]),
          }
        : {}),
      numbers: muNumbers(bars),
    },
  ];
  if (bars.some(({ lower, upper }) => lower !== null || upper !== null)) {
    const doubt = "The same forecasts with their intervals: the next return may fall anywhere on the line.";
    panels.push({
      ...inCard("With intervals"),
      title: "Forecasts with intervals",
      finding: doubt,
      chart: rowChart({
        finding: doubt,
        unit: "mu",
        gap,
        rows: shown.map(({ lower, upper, ...bar }) => ({ ...bareRow(bar), low: lower, high: upper })),
      }),
      key: keyLine([
        ["dot", "forecast"],
        ["interval", "interval"],
      ]),
    });
  }
  if (gap !== undefined && !isFlat) {
    const spread = `All ${countedRows(bars.length, "forecast")} by size.`;
    panels.push({
      title: "All forecasts",
      finding: spread,
      chart: histogramChart(spread, counts, "mu", 0),
      key: keyLine([
        ["bar", "tickers"],
        ["at", "a forecast of 0"],
      ]),
    });
  }
  return panels;
}

function bareRow({ ticker, mu, olderDate }: Pick<MuBar, "ticker" | "mu" | "olderDate">) {
  return { name: ticker, value: mu, isOlder: olderDate !== undefined };
}

function muNumbers(bars: readonly MuBar[]): string {
  const hasSpread = bars.some(({ spread }) => spread !== undefined);
  return numbersTable({
    caption: "forecasts",
    columns: [
      "Ticker",
      "Forecast",
      "Lower bound",
      "Upper bound",
      ...(hasSpread ? ["Standard deviation of members"] : []),
      "Earlier date",
    ],
    rows: bars.map(({ ticker, mu, lower, upper, spread, olderDate }) => [
      ticker,
      figure(mu, "mu"),
      figure(lower, "mu"),
      figure(upper, "mu"),
      ...(hasSpread ? [figure(spread, "mu")] : []),
      olderDate ?? NO_FIGURE,
    ]),
  });
}
