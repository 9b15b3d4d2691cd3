import type { Warning } from "../contract/warnings.ts";
import { muRow, type PanelDates } from "../panel/as-of.ts";
import type { Inputs } from "./read-inputs.ts";

/** A ticker that has its forecasts. */
interface DoneTicker {
  readonly ticker: string;
  readonly dates: PanelDates;
  /** Of its rows, its plan and its model. */
  readonly warnings: readonly Warning[];
}

/**
 * Warnings that are known once every ticker is done, in an order that does not depend on which ticker ended
 * first: tickers in one blob only, then each ticker's own, in the order given.
 * @param evaluated warnings of the intervals.
 */
export function tickerWarnings(
  inputs: Inputs,
  done: readonly DoneTicker[],
  evaluated: readonly Warning[],
): readonly Warning[] {
  const byTicker = Map.groupBy(evaluated, (warning) => warning.ticker);
  return [
    ...inputs.unpaired(),
    ...done.flatMap(({ ticker, warnings, dates }) => {
      const stale = muRow(dates, inputs.asOf).warning;
      return [...warnings, ...(byTicker.get(ticker) ?? []), ...(stale === undefined ? [] : [stale])];
    }),
  ];
}
