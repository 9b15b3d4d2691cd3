import { MucastError } from "../../contract/errors/errors.ts";
import type { Day } from "../../contract/market/dates.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { type Failure, namedFailure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { muRow, noForecast, type PanelDates } from "../../panel/as-of.ts";
import type { Inputs } from "./read-inputs.ts";

/**
 * Ends a job once it has read all tickers if none of them can have a `mu`, which may be before it trains or while it still fits.
 * @throws MucastError no_forecast. Does not throw without any ticker; `requireForecasts` does that later.
 */
export function requireCurrentTicker(dates: readonly PanelDates[], asOf: Day): void {
  if (dates.length > 0 && !hasMu(dates, asOf)) throw noForecast(dates, asOf);
}

/**
 * Ends a job if none of the tickers that did not fail has a `mu`.
 * @param dates of the tickers that did not fail.
 * @throws MucastError insufficient_history, all_failed or a code that all share, if every ticker failed; no_forecast if the others have no
 *   `mu`.
 */
export function requireForecasts(
  dates: readonly PanelDates[],
  failures: readonly Failure[],
  inputs: Pick<Inputs, "asOf" | "unused">,
): void {
  if (dates.length === 0) throw noTickerLeft(failures, inputs.unused());
  if (hasMu(dates, inputs.asOf)) return;
  const { message, data } = noForecast(dates, inputs.asOf);
  const own = `${message}; the tickers that should have one failed`;
  throw new MucastError("no_forecast", own, { ...data, failures });
}

function hasMu(dates: readonly PanelDates[], asOf: Day): boolean {
  return dates.some((panel) => muRow(panel, asOf).row !== undefined);
}

/** Codes that become the job's own if they are the reason of every ticker that has enough history. */
const COMMON_CODES = ["invalid_model_params", "sparse_prices", "few_tickers", "engine_crashed"] as const;

/** The error of a job that has lost every ticker. */
function noTickerLeft(failures: readonly Failure[], unused: readonly Warning[]): MucastError {
  const listed = [...failures].sort((a, b) => compareCodePoints(a.ticker, b.ticker));
  if (listed.length === 0) {
    const codes = ["no_prices", "no_features"] as const;
    const names = codes.flatMap((code) => unused.find((one) => one.code === code)?.message ?? []);
    const message = ["No ticker is in both the feature blob and the data-extraction blob.", ...names];
    return new MucastError("insufficient_history", message.join(" ").slice(0, -1), {
      title: "The blobs share no ticker",
      advice:
        "Give the blobs of one market, with the same names for its tickers; a program that reads names as numbers turns 000001 into 1.",
    });
  }
  const others = listed.filter(({ code }) => code !== "insufficient_history");
  const common = COMMON_CODES.find((one) => others.every(({ code }) => code === one));
  const code = others.length === 0 ? "insufficient_history" : (common ?? "all_failed");
  const all =
    listed.length === 1 ? "The only ticker failed:" : `All ${listed.length} tickers failed; for example,`;
  return new MucastError(code, `${all} ${namedFailure(others[0] ?? listed[0]!)}`, { failures: listed });
}
