import { MucastError } from "../../contract/errors/errors.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import { muRow, noForecast, type PanelDates } from "../../panel/as-of.ts";
import { noTickerLeft } from "../../panel/pairing.ts";

/**
 * Ends a job once it has read all tickers, where none of them can have a `mu`: before it trains, or while it still fits.
 * @param dates of every ticker that was read without failure.
 * @throws MucastError no_forecast. Without any ticker it does not throw; `requireForecasts` then does.
 */
export function requireCurrentTicker(dates: readonly PanelDates[], asOf: Day): void {
  if (dates.length > 0 && !dates.some((panel) => hasMu(panel, asOf))) throw noForecast(dates, asOf);
}

/**
 * Ends a job where none of the tickers that did not fail has a `mu`.
 * @param dates of the tickers that did not fail.
 * @throws MucastError insufficient_history or all_failed where every ticker failed; no_forecast where those that did
 *   not fail have no `mu`.
 */
export function requireForecasts(
  dates: readonly PanelDates[],
  failures: readonly Failure[],
  asOf: Day,
): void {
  if (dates.length === 0) throw noTickerLeft(failures);
  if (dates.some((panel) => hasMu(panel, asOf))) return;
  const { message, data } = noForecast(dates, asOf);
  throw new MucastError("no_forecast", `${message}; the tickers that have one failed`, { ...data, failures });
}

function hasMu(panel: PanelDates, asOf: Day): boolean {
  return muRow(panel, asOf).row !== undefined;
}
