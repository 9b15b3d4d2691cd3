import type { Day } from "../../contract/data/dates.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Failure } from "../../contract/output/output-blob.ts";
import { muRow, noForecast, type PanelDates } from "../../panel/as-of.ts";
import { noTickerLeft } from "../../panel/pairing.ts";

/**
 * Checks what reading gave, before anything is fitted.
 * @param dates of every ticker that was read without failure.
 * @throws MucastError no_forecast where there are tickers and none of them can have a `mu`.
 */
export function checkCurrent(dates: readonly PanelDates[], asOf: Day): void {
  if (dates.length > 0 && !dates.some((panel) => hasMu(panel, asOf))) throw noForecast(dates, asOf);
}

/**
 * Checks what is left of the tickers once some have failed.
 * @param dates of the tickers left.
 * @throws MucastError insufficient_history or all_failed where none is; no_forecast where those left have no `mu`.
 */
export function checkLeft(dates: readonly PanelDates[], failures: readonly Failure[], asOf: Day): void {
  if (dates.length === 0) throw noTickerLeft(failures);
  if (dates.some((panel) => hasMu(panel, asOf))) return;
  const { message, data } = noForecast(dates, asOf);
  throw new MucastError("no_forecast", `${message}; the tickers that have one failed`, { ...data, failures });
}

function hasMu(panel: PanelDates, asOf: Day): boolean {
  return muRow(panel, asOf).row !== undefined;
}
