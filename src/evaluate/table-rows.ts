import type { Pausable } from "../contract/machine/pausable.ts";
import { concatenate, type ForecastRows, inTickerOrder, labelled } from "./forecast-rows.ts";
import { type LabelsByDate, labelsByDate } from "./labels-by-date.ts";
import { type LabelFacts, labelFacts } from "./metrics.ts";

/** Labelled rows of all tickers, with what the tables of all their forecasts share. */
export interface TableRows {
  /** Ascending by code point, including those without a labelled row. */
  readonly tickers: readonly ForecastRows[];
  /** Shape (n), for the concatenated rows of the tickers; `trainingMean` likewise. */
  readonly realised: Float64Array;
  readonly trainingMean: Float64Array;
  readonly facts: LabelFacts;
  readonly byDate: LabelsByDate;
}

/** Prepares rows for their tables. Rows without a label do not count. @param rows tickers in any order. */
export function* tableRows(rows: readonly ForecastRows[]): Pausable<TableRows> {
  const tickers: ForecastRows[] = [];
  for (const ticker of inTickerOrder(rows)) {
    tickers.push(labelled(ticker));
    yield 0;
  }
  const realised = concatenate(tickers.map((ticker) => ticker.realised));
  yield 0;
  const trainingMean = concatenate(tickers.map((ticker) => ticker.trainingMean));
  yield 0;
  const facts = yield* labelFacts(realised);
  return { tickers, realised, trainingMean, facts, byDate: yield* labelsByDate(tickers) };
}
