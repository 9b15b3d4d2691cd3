/** A market from which tests make an earlier day's blobs and today's: features are honest and depend only on the past. */

import { seededRandom } from "../../../test/twins/random.ts";
import { MILLISECONDS_PER_DAY } from "../../contract/market/dates.ts";

export type Cell = number | null;

/** Tickers and features as in the canonical blobs. */
export interface Market {
  dates: string[];
  prices: Record<string, Cell[]>;
  features: Record<string, Record<string, Cell[]>>;
}

export const TICKERS = Array.from({ length: 20 }, (_, i) => `T${String(i).padStart(2, "0")}`);
/** Dates of the earlier day; today has more. */
export const EARLIER = 300;
const TODAY = 310;

/** Today's blobs, unless another number of dates is given. @param from first date. */
export function cleanMarket(seed: number, to = TODAY, from = 0): Market {
  const market: Market = { dates: weekdays(TODAY).slice(from, to), prices: {}, features: {} };
  for (const [i, ticker] of TICKERS.entries()) {
    const random = seededRandom(1000 * seed + i);
    const prices: number[] = [];
    let price = 20 + 200 * random.uniform();
    for (let t = 0; t < TODAY; t++) {
      price *= Math.exp(0.0003 + 0.015 * random.normal());
      prices.push(price);
    }
    market.prices[ticker] = prices.slice(from, to);
    const others = otherFeatures(7 * seed + i);
    market.features[ticker] = {
      ...priceFeatures(prices.slice(from, to)),
      weekday: others.weekday.slice(from, to),
      earnings: others.earnings.slice(from, to),
    };
  }
  return market;
}

/** Features that need a full window; `mean_20` is a level, the others are ratios. */
export function priceFeatures(prices: readonly number[]): Record<string, Cell[]> {
  return {
    mom_5: prices.map((price, t) => (t < 5 ? null : Math.log(price / prices[t - 5]!))),
    vol_20: prices.map((_, t) => (t < 20 ? null : volatility(prices.slice(t - 20, t + 1)))),
    to_mean_20: prices.map((price, t) => (t < 19 ? null : price / mean(prices.slice(t - 19, t + 1)) - 1)),
    mean_20: prices.map((_, t) => (t < 19 ? null : mean(prices.slice(t - 19, t + 1)))),
  };
}

/** Earnings come on every 60th date and stay until the next; there are none before the first. */
function otherFeatures(seed: number): { readonly weekday: Cell[]; readonly earnings: Cell[] } {
  const random = seededRandom(seed);
  const dates = Array.from({ length: TODAY }, (_, t) => t);
  let known: Cell = null;
  return {
    weekday: dates.map((t) => t % 5),
    earnings: dates.map((t) => {
      if (t % 60 === 25) known = Math.round(100 * random.normal()) / 100;
      return known;
    }),
  };
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function volatility(prices: readonly number[]): number {
  const returns = prices.slice(1).map((price, i) => Math.log(price / prices[i]!));
  const centre = mean(returns);
  return Math.sqrt(mean(returns.map((value) => (value - centre) ** 2)));
}

function weekdays(count: number): string[] {
  const dates: string[] = [];
  for (let day = Date.UTC(2021, 0, 4); dates.length < count; day += MILLISECONDS_PER_DAY) {
    if (new Date(day).getUTCDay() % 6 !== 0) dates.push(new Date(day).toISOString().slice(0, 10));
  }
  return dates;
}
