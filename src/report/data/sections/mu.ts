import { compareCodePoints } from "../../../contract/market/ticker-order.ts";
import { byTicker } from "../../../outputs/scored-rows.ts";
import type { OutputEvidence } from "../../evidence/output-evidence.ts";
import { histogram } from "../../statistics/histogram.ts";
import { countedRows, figure } from "../figures.ts";
import type { Part } from "../report-data.ts";
import type { Mu, MuBar } from "../section-data.ts";

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
  const data = { asOf: window.as_of, bars, histogram: histogram(Float64Array.from(bars, (bar) => bar.mu)) };
  return { data: { ...data, finding: findingOf(bars, window.as_of) } };
}

function endOf(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

function findingOf(bars: readonly MuBar[], asOf: string): string {
  const [top, bottom] = [bars[0]!, bars.at(-1)!];
  const up = bars.filter(({ mu }) => mu > 0).length;
  const older = bars.filter(({ olderDate }) => olderDate !== undefined).length;
  const span =
    bars.length === 1
      ? `the forecast of ${top.ticker} is ${figure(top.mu, "return")}`
      : `the forecasts of ${countedRows(bars.length, "ticker")} range from ${figure(bottom.mu, "return")} (${bottom.ticker}) to ${figure(top.mu, "return")} (${top.ticker}), and ${figure(up, "count")} are above 0`;
  const doubt = intervalsAtZero(bars);
  const late = older === 0 ? "" : `; ${countedRows(older, "forecast")} from an earlier date`;
  return `As of the close of ${asOf}, ${span}${doubt}${late}.`;
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
