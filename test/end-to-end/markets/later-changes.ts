/** Markets that turn out differently after a date, and what a job said up to it. */
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import type { Cell, Market } from "./market.ts";

/** The market with changed prices after `last`, and unchanged features. */
export function pricesChangedAfter(last: string, market: Market): Market {
  const { priceDates, prices } = market;
  return {
    ...market,
    prices: new Map([...prices].map(([t, cells], i) => [t, changed(last, priceDates, cells, i)])),
  };
}

function changed(last: string, dates: readonly string[], cells: readonly Cell[], i: number): Cell[] {
  return cells.map((cell, d) =>
    dates[d]! > last && cell !== null ? cell * (1 + ((i + d) % 5)) + 0.5 : cell,
  );
}

/** The market with changed prices and features after `last`. */
export function changedAfter(last: string, market: Market): Market {
  return {
    ...pricesChangedAfter(last, market),
    features: new Map(
      [...market.features].map(([ticker, columns], i) => [
        ticker,
        new Map([...columns].map(([name, cells]) => [name, changed(last, market.featureDates, cells, i)])),
      ]),
    ),
  };
}

/** Rows of an output that have dates. */
interface Dated {
  readonly dates: readonly string[];
  readonly predicted: readonly number[];
  readonly lower?: readonly (number | null)[] | undefined;
  readonly upper?: readonly (number | null)[] | undefined;
}

/** Forecasts of rows dated `last` or before, out of fold and published, with their intervals. */
export function forecastsUpTo(last: string, { cross_validation = {}, forecasts }: OutputBlob) {
  const upTo = ({ dates, predicted, lower, upper }: Dated) =>
    dates.flatMap((date, i) => (date <= last ? [[date, predicted[i]!, lower?.[i], upper?.[i]]] : []));
  return [cross_validation, forecasts].map((part) =>
    Object.entries(part).map(([ticker, rows]) => [ticker, upTo(rows)]),
  );
}
