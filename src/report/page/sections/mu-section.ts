import { histogramChart } from "../../charts/column-chart.ts";
import { rowChart } from "../../charts/row-chart.ts";
import { countedRows, figure, NO_FIGURE } from "../../data/figures.ts";
import type { Mu, MuBar } from "../../data/section-data.ts";
import { numbersTable } from "../numbers-table.ts";
import { keyLine, type Panel } from "../panel.ts";

/** Up to this many tickers, each has a bar. */
export const MAX_BARS = 44;
/** Beyond that, show only this many at the top and at the bottom. */
export const END_BARS = 20;

/** The top and the bottom of a list that is too long for a chart, or the whole list. */
export function ends<T>(rows: readonly T[]): readonly T[] {
  return rows.length <= MAX_BARS ? rows : [...rows.slice(0, END_BARS), ...rows.slice(-END_BARS)];
}

/** The forecasts, alone and with their intervals. */
export function muPanels({ finding, bars, asOf, histogram }: Mu): Panel[] {
  const shown = ends(bars);
  const cut =
    shown.length < bars.length ? ` The ${END_BARS} largest and the ${END_BARS} smallest are shown.` : "";
  const seeds = bars.some(({ spread }) => spread !== undefined)
    ? " The spread of an ensemble's members, in the numbers below, shows how much the seed matters. It does not show how far a forecast may be off."
    : "";
  const hasOlder = shown.some(({ olderDate }) => olderDate !== undefined);
  const panels: Panel[] = [
    {
      title: "Forecasts",
      finding: `${finding}${cut}${seeds}`,
      chart: rowChart({ finding, unit: "return", rows: shown.map(bareRow) }),
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
    const doubt = "The same forecasts with their intervals. The next return may be anywhere on its line.";
    panels.push({
      title: "Forecasts with intervals",
      finding: doubt,
      chart: rowChart({
        finding: doubt,
        unit: "return",
        rows: shown.map(({ lower, upper, ...bar }) => ({ ...bareRow(bar), low: lower, high: upper })),
      }),
      key: keyLine([
        ["dot", "forecast"],
        ["interval", "interval"],
      ]),
    });
  }
  if (shown.length < bars.length) {
    const spread = `All ${countedRows(bars.length, "forecast")} by size.`;
    panels.push({
      title: "All forecasts",
      finding: spread,
      chart: histogramChart(spread, histogram, "return", 0),
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
      figure(mu, "return"),
      figure(lower, "return"),
      figure(upper, "return"),
      ...(hasSpread ? [figure(spread, "return")] : []),
      olderDate ?? NO_FIGURE,
    ]),
  });
}
