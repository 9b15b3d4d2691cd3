/**
 * Two input blobs as a test builds them: a market in memory and its canonical JSON text. Tickers and columns are in maps, whose order is
 * the order in the text, even for names like `10`.
 */
import { Seeded } from "./seeded.ts";

/** NaN and the infinities are written as Python writes them. */
export type Cell = number | null;

export interface Bounds {
  readonly start?: string | null;
  readonly end?: string | null;
  readonly Learning_end?: string | null;
}

export interface Market {
  readonly bounds: Bounds;
  readonly priceDates: readonly string[];
  readonly prices: ReadonlyMap<string, readonly Cell[]>;
  readonly featureDates: readonly string[];
  readonly features: ReadonlyMap<string, ReadonlyMap<string, readonly Cell[]>>;
}

/** `count` weekdays from Monday 2021-01-04. */
export function weekdays(count: number): string[] {
  const dates: string[] = [];
  for (let day = Date.UTC(2021, 0, 4); dates.length < count; day += 86_400_000) {
    if (new Date(day).getUTCDay() % 6 !== 0) dates.push(new Date(day).toISOString().slice(0, 10));
  }
  return dates;
}

/** Features of very different sizes; the first three contain some of the next day's return. */
const COLUMNS: readonly (readonly [name: string, scale: number])[] = [
  ["mom_5", 1],
  ["vol_20", 0.01],
  ["level", 1e6],
  ["noise", 1],
  ["2", 1],
  ["10", 100],
];

/** One ticker's prices and features over `length` dates. */
export function tickerSeries(seed: number, length: number) {
  const random = new Seeded(seed);
  const prices: number[] = [];
  const columns = new Map<string, number[]>(COLUMNS.map(([name]) => [name, []]));
  let price = 20 + 100 * random.uniform();
  for (let i = 0; i < length; i++) {
    prices.push(price);
    const drawn = COLUMNS.map(() => random.normal());
    for (const [c, [name, scale]] of COLUMNS.entries()) columns.get(name)!.push(drawn[c]! * scale);
    const [a, b, c] = drawn as [number, number, number];
    price *= 1 + 0.004 * a - 0.003 * b + 0.002 * a * c + 0.008 * random.normal();
  }
  return { prices, columns };
}

/** Five tickers without gaps over 260 dates. */
export function cleanMarket(learningEnd?: string): Market {
  const dates = weekdays(260);
  const prices = new Map<string, Cell[]>();
  const features = new Map<string, Map<string, Cell[]>>();
  for (const [i, ticker] of ["AAPL", "MSFT", "JPM", "XOM", "KO"].entries()) {
    const series = tickerSeries(100 + i, dates.length);
    prices.set(ticker, series.prices);
    features.set(ticker, series.columns);
  }
  const bounds = { start: dates[0]!, end: dates.at(-1)!, Learning_end: learningEnd ?? null };
  return { bounds, priceDates: dates, prices, featureDates: dates, features };
}

/** JSON text that keeps the order of maps and writes NaN and Infinity as Python does. */
export function jsonText(value: unknown): string {
  if (typeof value === "number") return Number.isFinite(value) ? JSON.stringify(value) : String(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}: ${jsonText(member)}`).join(", ")}}`;
}

export function priceBlob({ bounds, priceDates, prices }: Market): string {
  return jsonText({ ...bounds, dates: priceDates, prices });
}

export function featureBlob({ featureDates, features }: Market): string {
  return jsonText({ dates: featureDates, features });
}
