import type { Warning } from "../contract/warnings.ts";
import { muRow } from "../panel/as-of.ts";
import type { FitOutcome } from "./fit-tickers.ts";
import type { Inputs } from "./read-inputs.ts";

/**
 * Warnings that are known once every ticker is fitted, in an order that does not depend on which ticker ended
 * first: tickers in one blob only, then each ticker's own, ascending by code point.
 */
export function tickerWarnings(
  inputs: Inputs,
  { fitted }: FitOutcome,
  evaluated: readonly Warning[],
): readonly Warning[] {
  const byTicker = Map.groupBy(evaluated, (warning) => warning.ticker);
  return [
    ...inputs.unpaired(),
    ...fitted.flatMap(({ ticker, warnings, dates }) => {
      const stale = muRow(dates, inputs.asOf).warning;
      return [...warnings, ...(byTicker.get(ticker) ?? []), ...(stale === undefined ? [] : [stale])];
    }),
  ];
}
