/**
 * Markets whose returns contain a known signal, so that a network's result can be compared with the best possible one.
 *
 * Features are independent standard normals. A return is a signal in the features plus noise, of daily volatility 1 %;
 * prices are made from the returns, so the label of a day is exactly its planted return.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatDay, parseDay } from "../../src/contract/market/dates.ts";
import { seededRandom } from "../../test/twins/random.ts";

const TICKERS = 8;
const FEATURES = ["f1", "f2", "f3", "f4", "f5", "f6"];
const DAYS = 1_500;
const VOLATILITY = 0.01;
/** How many rows back `memory` looks. */
const LAG = 4;
const FIRST_DAY = parseDay("2015-01-01")!;

/** Value of a feature of a ticker on a day; days go back to -LAG. */
type Drawn = (ticker: number, feature: number, day: number) => number;

interface Signal {
  /** Best possible IC: correlation of the signal with the return. */
  readonly bestIc: number;
  /** Variance 1, except if there is no signal. */
  readonly at: (drawn: Drawn, ticker: number, day: number) => number;
}

/** The four signals. The rest of a return is noise, independent across tickers and days. */
export const SIGNALS = {
  /** Two features of the same day. */
  linear: {
    bestIc: Math.sqrt(0.32),
    at: (drawn, ticker, day) => (drawn(ticker, 0, day) - drawn(ticker, 1, day)) / Math.sqrt(2),
  },
  /** A feature from four rows ago, which only a window sees. */
  memory: { bestIc: Math.sqrt(1 / 3), at: (drawn, ticker, day) => drawn(ticker, 0, day - LAG) },
  /** The mean of a feature over all tickers, which only a joint network sees. */
  cross: {
    bestIc: Math.sqrt(1 / 3),
    at: (drawn, _, day) => {
      let sum = 0;
      for (let ticker = 0; ticker < TICKERS; ticker++) sum += drawn(ticker, 0, day);
      return sum / Math.sqrt(TICKERS);
    },
  },
  /** No signal. */
  null: { bestIc: 0, at: () => 0 },
} satisfies Record<string, Signal>;

export type SignalName = keyof typeof SIGNALS;

export interface PlantedMarket {
  /** Named after the signal, so that markets of several signals fit into one blob. */
  readonly tickers: readonly string[];
  readonly dates: readonly string[];
  /** The first four fifths of the days; later labels are scored. */
  readonly learningEnd: string;
  /** By ticker, then feature, then day. */
  readonly features: readonly (readonly Float64Array[])[];
  /** By ticker, then day: the return from that day to the next. The last one is after the end of the prices. */
  readonly returns: readonly Float64Array[];
  /** By ticker, then day: the best possible forecast of it. */
  readonly bestForecasts: readonly Float64Array[];
}

export interface MarketSize {
  readonly days?: number;
  /** How many of the eight tickers are in the market, starting with the first one. */
  readonly tickers?: number;
}

/** The market of a seed: the same numbers on every machine. */
export function plantedMarket(
  name: SignalName,
  seed: number,
  { days = DAYS, tickers: count = TICKERS }: MarketSize = {},
): PlantedMarket {
  const random = seededRandom(seed);
  const series = (length: number) => Float64Array.from({ length }, () => random.normal());
  const tickers = Array.from({ length: TICKERS }, (_, t) => `${name}_${t}`);
  const drawnFrom = tickers.map(() => FEATURES.map(() => series(days + LAG)));
  const noise = tickers.map(() => series(days));
  const drawn: Drawn = (ticker, feature, day) => drawnFrom[ticker]![feature]![day + LAG]!;
  const { bestIc, at }: Signal = SIGNALS[name];
  const bestForecasts = noise.map((values, ticker) =>
    values.map((_, day) => VOLATILITY * bestIc * at(drawn, ticker, day)),
  );
  const noiseSize = VOLATILITY * Math.sqrt(1 - bestIc ** 2);
  const dates = businessDays(days);
  return {
    tickers: tickers.slice(0, count),
    dates,
    learningEnd: dates[Math.floor(0.8 * days) - 1]!,
    features: drawnFrom.slice(0, count).map((columns) => columns.map((column) => column.subarray(LAG))),
    returns: noise
      .slice(0, count)
      .map((values, t) => values.map((value, day) => bestForecasts[t]![day]! + noiseSize * value)),
    bestForecasts: bestForecasts.slice(0, count),
  };
}

/** Writes the two input blobs of markets of one length into a folder. @returns their paths. */
export function writePlantedBlobs(markets: readonly PlantedMarket[], folder: string) {
  const { dates, learningEnd } = markets[0]!;
  const byTicker = <T>(valuesOf: (market: PlantedMarket) => readonly T[]) =>
    Object.fromEntries(markets.flatMap((m) => valuesOf(m).map((value, t) => [m.tickers[t], value])));
  const features = byTicker((market) => market.features.map(byName));
  const prices = byTicker((market) => market.returns.map(pricesOf));
  const blobs = {
    featurePath: join(folder, "feature_engine.json"),
    dataExtractorPath: join(folder, "data_extractor.json"),
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(blobs.featurePath, JSON.stringify({ dates, features }));
  const window = { start: dates[0], end: dates.at(-1), Learning_end: learningEnd };
  writeFileSync(blobs.dataExtractorPath, JSON.stringify({ ...window, dates, prices }));
  return blobs;
}

function byName(columns: readonly Float64Array[]): Record<string, readonly number[]> {
  return Object.fromEntries(columns.map((column, j) => [FEATURES[j], [...column]]));
}

/** From 100 on; as many as there are returns, so the last return is not included. */
export function pricesOf(returns: Float64Array): number[] {
  let logPrice = Math.log(100);
  return Array.from(returns, (value) => {
    const price = Math.exp(logPrice);
    logPrice += value;
    return price;
  });
}

function businessDays(count: number): string[] {
  const dates: string[] = [];
  for (let day = FIRST_DAY; dates.length < count; day++) {
    // 1970-01-01 was a Thursday; 2 and 3 are Saturday and Sunday.
    if (day % 7 !== 2 && day % 7 !== 3) dates.push(formatDay(day));
  }
  return dates;
}
