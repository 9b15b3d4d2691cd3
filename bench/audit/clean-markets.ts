import { parseDay } from "../../src/contract/market/dates.ts";
import type { TickerFeatures, TickerPrices } from "../../src/contract/market/ticker-series.ts";
import { featuresOf } from "../../src/prepare/features.ts";
import { type Random, seededRandom } from "../../test/twins/random.ts";

/** A market in which nothing can be forecast: every feature is made of the prices up to its date. */
export interface Market {
  readonly prices: readonly TickerPrices[];
  readonly features: readonly TickerFeatures[];
}

export interface MarketSize {
  readonly tickers: number;
  readonly days: number;
}

/**
 * The first seed of the tables. The effect limits of foresight were chosen with markets of seeds below 5,000, so the tables use
 * markets that did not influence the choice.
 */
export const FIRST_SEED = 70_000;

/** A market as known on two days: the later one has more dates. */
export interface TwoDays {
  readonly earlier: Market;
  readonly today: Market;
}

/** The number of dates between the two days. */
const LATER = 10;

const FIRST_DAY = parseDay("2018-01-02")!;

/**
 * Random walks with fat tails (t with 4 degrees of freedom), clustered volatility (GARCH) and a common factor, on weekdays,
 * with the features of `mucast prepare`.
 */
export function cleanMarket(seed: number, { tickers, days }: MarketSize): Market {
  const random = seededRandom(seed);
  const dates = weekdays(days);
  const factor = garchReturns(days, random);
  const prices = Array.from({ length: tickers }, (_, t) => {
    const own = garchReturns(days, random);
    let price = 100;
    return {
      ticker: `S${String(t).padStart(2, "0")}`,
      days: dates,
      prices: own.map((value, i) => (price *= Math.exp(0.6 * factor[i]! + 0.8 * value))),
    };
  });
  return { prices, features: [...featuresOf(prices)] };
}

/** A clean market of `days` dates, and the blobs of its maker 10 dates earlier. */
export function cleanDays(seed: number, size: MarketSize): TwoDays {
  const today = cleanMarket(seed, size);
  const n = size.days - LATER;
  const prices = today.prices.map((one) => ({
    ...one,
    days: one.days.slice(0, n),
    prices: one.prices.slice(0, n),
  }));
  return { earlier: { prices, features: [...featuresOf(prices)] }, today };
}

/** The same days with each price missing with a probability of 3 %, while the features still have values on such dates. */
export function withGaps({ earlier, today }: TwoDays, seed: number): TwoDays {
  const random = seededRandom(seed);
  const isGap = today.prices.map(({ prices }) => Array.from(prices, () => random.uniform() < 0.03));
  const gapped = (market: Market): Market => ({
    ...market,
    prices: market.prices.map((one, t) => ({
      ...one,
      prices: one.prices.map((price, i) => (isGap[t]![i] ? Number.NaN : price)),
    })),
  });
  return { earlier: gapped(earlier), today: gapped(today) };
}

/**
 * Prices of a thin market: each is a bid or an ask, `half` of the spread below or above its earlier value, and features are made of them.
 */
export function bouncing({ earlier, today }: TwoDays, seed: number, half: number): TwoDays {
  const random = seededRandom(seed);
  const sides = today.prices.map(({ prices }) =>
    prices.map(() => Math.exp(random.uniform() < 0.5 ? half : -half)),
  );
  const bounced = (market: Market): Market => {
    const prices = market.prices.map((one, t) => ({
      ...one,
      prices: one.prices.map((price, i) => price * sides[t]![i]!),
    }));
    return { prices, features: [...featuresOf(prices)] };
  };
  return { earlier: bounced(earlier), today: bounced(today) };
}

/** The same days with today's blobs starting 20 dates later. */
export function withLaterStart({ earlier, today }: TwoDays): TwoDays {
  const prices = today.prices.map((one) => ({
    ...one,
    days: one.days.slice(20),
    prices: one.prices.slice(20),
  }));
  return { earlier, today: { prices, features: [...featuresOf(prices)] } };
}

export function weekdays(count: number): Int32Array {
  const days = new Int32Array(count);
  for (let day = FIRST_DAY, i = 0; i < count; day++) {
    const weekday = (((day + 3) % 7) + 7) % 7;
    if (weekday < 5) days[i++] = day;
  }
  return days;
}

const DEVIATION = 0.015;

export function garchReturns(n: number, random: Random): Float64Array {
  let variance = DEVIATION ** 2;
  return Float64Array.from({ length: n }, () => {
    const value = Math.sqrt(variance) * fatTailed(random);
    variance = 0.05 * DEVIATION ** 2 + 0.1 * value ** 2 + 0.85 * variance;
    return value;
  });
}

/** Student's t with 4 degrees of freedom, scaled to variance 1. */
function fatTailed(random: Random): number {
  let squares = 0;
  for (let k = 0; k < 4; k++) squares += random.normal() ** 2;
  return random.normal() / Math.sqrt(squares / 4) / Math.SQRT2;
}
