/** A market with a different future, and what an output says about the days before it. */
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import type { Cell, Market } from "./market.ts";
import { Seeded } from "./seeded.ts";

/** What an output says about the days up to and including `last`. A label is known on its own date. */
export function upTo(last: string, { forecasts, cross_validation, training }: OutputBlob): string {
  const seen = Object.entries(forecasts).map(([ticker, { dates, predicted, realised, lower, upper }]) => {
    const kept = dates.filter((date) => date <= last).length;
    return [
      ticker,
      {
        dates: dates.slice(0, kept),
        predicted: predicted.slice(0, kept),
        realised: realised.slice(0, kept - 1),
      },
      { lower: lower.slice(0, kept), upper: upper.slice(0, kept) },
    ];
  });
  return JSON.stringify([seen, cross_validation, training]);
}

/**
 * The market with other prices and features on every date after `last`, including every kind of cell.
 * @param traded prices after this day stay unchanged.
 */
export function corruptedAfter(last: string, market: Market, traded = "2021-12-15"): Market {
  const random = new Seeded(77);
  const wild = (): Cell =>
    [null, Number.NaN, Number.POSITIVE_INFINITY, -1e12, 0, 1e12, random.normal(), 50 + random.uniform()][
      Math.floor(8 * random.uniform())
    ]!;
  const corrupt = (dates: readonly string[], cells: readonly Cell[]) =>
    cells.map((cell, i) => (dates[i]!.slice(0, 10) > last ? wild() : cell));
  // One ticker keeps its prices to the last day; otherwise there would be nothing to forecast.
  const price = (dates: readonly string[], cells: readonly Cell[]) =>
    corrupt(dates, cells).map((cell, i) => (dates[i]!.slice(0, 10) > traded ? cells[i]! : cell));
  const kept = [...market.features.keys()][0]!;
  return {
    ...market,
    prices: new Map([...market.prices].map(([t, cells]) => [t, price(market.priceDates, cells)])),
    features: new Map(
      [...market.features].map(([t, columns]) => [
        t,
        t === kept
          ? columns
          : new Map([...columns].map(([name, cells]) => [name, corrupt(market.featureDates, cells)])),
      ]),
    ),
  };
}
