import fc from "fast-check";
import { formatDay, parseDay } from "../../src/contract/market/dates.ts";
import type { TickerFeatures, TickerPrices } from "../../src/contract/market/ticker-series.ts";
import { seededRandom } from "./random.ts";

/** One ticker as a person would write it: a price and a few features per date. Missing values are NaN. */
export interface Quotes {
  readonly names: readonly string[];
  readonly prices: ReadonlyMap<string, number>;
  readonly features: ReadonlyMap<string, readonly number[]>;
}

/** The frequency of each fault, as a share of dates. */
export interface Faults {
  readonly seed: number;
  readonly dates: number;
  readonly noPrice: number;
  readonly badPrice: number;
  readonly longGap: number;
  readonly noFeatureRow: number;
  readonly missingValue: number;
  /** The feature that begins only late in the history, if any. */
  readonly lateFeature: number;
}

/** A share of dates between 0 and `percent` per cent, evenly spread (fast-check's doubles favour the extremes). */
const upTo = (percent: number): fc.Arbitrary<number> =>
  fc.integer({ min: 0, max: percent * 10 }).map((perMille) => perMille / 1000);

export const FAULTS: fc.Arbitrary<Faults> = fc.record({
  seed: fc.nat(),
  dates: fc.integer({ min: 40, max: 160 }),
  noPrice: upTo(10),
  badPrice: upTo(8),
  longGap: upTo(4),
  noFeatureRow: upTo(10),
  missingValue: upTo(3),
  lateFeature: fc.integer({ min: 0, max: 6 }),
});

const BAD_PRICES = [0, -0, -1, -1e9, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
const BAD_VALUES = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

/** A history on weekdays from 2019-01-02 with the given faults. */
export function faultyQuotes(faults: Faults): Quotes {
  const random = seededRandom(faults.seed);
  const strikes = (share: number): boolean => random.uniform() < share;
  const names = ["mom", "10", "vol", "__proto__"];
  const prices = new Map<string, number>();
  const features = new Map<string, readonly number[]>();
  let day = parseDay("2019-01-02")!;
  let price = 100;
  for (let i = 0; i < faults.dates; i++) {
    day += strikes(faults.longGap) ? 6 + random.below(15) : 1;
    while ([0, 6].includes(new Date(day * 86_400_000).getUTCDay())) day++;
    const date = formatDay(day);
    price *= Math.exp(0.02 * random.normal());
    if (!strikes(faults.noPrice)) {
      prices.set(date, strikes(faults.badPrice) ? BAD_PRICES[random.below(BAD_PRICES.length)]! : price);
    }
    if (strikes(faults.noFeatureRow)) continue;
    const values = names.map((_, c) => {
      if (c === faults.lateFeature && i < faults.dates * 0.8) return Number.NaN;
      return strikes(faults.missingValue) ? BAD_VALUES[random.below(BAD_VALUES.length)]! : random.normal();
    });
    features.set(date, values);
  }
  return { names, prices, features };
}

/** The result of reading a blob: ascending columns. */
export function asColumns(
  ticker: string,
  quotes: Quotes,
): { prices: TickerPrices; features: TickerFeatures } {
  const priceDates = [...quotes.prices.keys()].sort();
  const featureDates = [...quotes.features.keys()].sort();
  return {
    prices: {
      ticker,
      days: Int32Array.from(priceDates, (date) => parseDay(date)!),
      prices: Float64Array.from(priceDates, (date) => quotes.prices.get(date)!),
    },
    features: {
      ticker,
      days: Int32Array.from(featureDates, (date) => parseDay(date)!),
      columns: quotes.names,
      values: Float64Array.from(
        quotes.names.flatMap((_, c) => featureDates.map((date) => quotes.features.get(date)![c]!)),
      ),
    },
  };
}
