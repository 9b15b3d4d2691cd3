/** The two blobs of every made-up job: two tickers over 70 dates, one of which lacks a feature. */

import { type Cell, type Market, weekdays } from "../end-to-end/markets/market.ts";
import { Seeded } from "../end-to-end/markets/seeded.ts";

/** Data for which libraries have their own branches: a constant, few distinct whole numbers, a large range, ties. */
const COLUMNS: Readonly<Record<string, (random: Seeded, row: number) => Cell>> = {
  normal: (random) => random.normal(),
  constant: () => 1,
  category: (_, row) => row % 3,
  wide: (random) => 1e9 * random.uniform(),
  lacking: (random) => random.normal(),
};

export function fuzzMarket(): Market {
  const random = new Seeded(7);
  const dates = weekdays(70);
  const prices = new Map<string, Cell[]>();
  const features = new Map<string, Map<string, Cell[]>>();
  for (const ticker of ["FIVE", "FOUR"]) {
    const columns = Object.entries(COLUMNS).map(([name, cell]): [string, Cell[]] => [
      name,
      dates.map((_, row) => (name === "lacking" && ticker === "FOUR" ? null : cell(random, row))),
    ]);
    features.set(ticker, new Map(columns));
    prices.set(
      ticker,
      dates.map((_, row) => 50 + 10 * Math.sin(row) + random.normal()),
    );
  }
  const bounds = { start: dates[0]!, end: dates.at(-1)!, Learning_end: null };
  return { bounds, priceDates: dates, prices, featureDates: dates, features };
}
