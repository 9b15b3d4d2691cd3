/** Markets in which one feature forecasts the next return: honest ones, and those in which it does so too well. */
import { seededRandom } from "../../test/twins/random.ts";
import { garchReturns, type Market, type MarketSize, weekdays } from "./clean-markets.ts";

export interface Signal {
  /** Correlation of the feature with the ticker's next return, before the market's common factor is added to it. */
  readonly ic: number;
  /** Autocorrelation of all features from one date to the next. */
  readonly persistence: number;
}

/** The number of features of a ticker; the first one, f0, carries the signal. */
const FEATURES = 17;

/** The share of a return's variance that all tickers have in common. */
const COMMON = 0.25;

/**
 * Returns with fat tails, clustered volatility and a common factor; f0 of the previous date explains a share ic² of their variance; the
 * other features are noise. Features are normal, independent across tickers.
 */
export function signalMarket(
  seed: number,
  { tickers, days }: MarketSize,
  { ic, persistence }: Signal,
): Market {
  const random = seededRandom(seed);
  const dates = weekdays(days);
  const factor = garchReturns(days, random);
  const columns = Array.from({ length: FEATURES }, (_, j) => `f${j}`);
  const made = Array.from({ length: tickers }, (_, t) => {
    const ticker = `S${String(t).padStart(2, "0")}`;
    const values = new Float64Array(FEATURES * days);
    for (let j = 0; j < FEATURES; j++) {
      let value = random.normal();
      for (let i = 0; i < days; i++) {
        values[j * days + i] = value;
        value = persistence * value + Math.sqrt(1 - persistence ** 2) * random.normal();
      }
    }
    const own = garchReturns(days, random);
    let price = 100;
    const prices = own.map((noise, i) => {
      const signal = i === 0 ? 0 : 0.015 * values[i - 1]!;
      const rest = Math.sqrt(COMMON) * factor[i]! + Math.sqrt(1 - COMMON) * noise;
      price *= Math.exp(ic * signal + Math.sqrt(1 - ic ** 2) * rest);
      return price;
    });
    return { prices: { ticker, days: dates, prices }, features: { ticker, days: dates, columns, values } };
  });
  return { prices: made.map(({ prices }) => prices), features: made.map(({ features }) => features) };
}
