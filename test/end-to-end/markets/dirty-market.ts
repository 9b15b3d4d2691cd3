/** A market with every fault at once that the rules about rows mention. */
import { type Bounds, type Cell, type Market, tickerSeries, weekdays } from "./market.ts";
import { Seeded } from "./seeded.ts";

const DATES = weekdays(260);
/** Index of the last date inside the window of the dirty market with a Learning_end: a Monday. */
const END = 250;
/** Index of the Friday before the Saturday on which learning ends. */
const LEARNED = 214;

interface Ticker {
  prices: Cell[];
  columns: Map<string, Cell[]>;
}

/** Changes to a whole ticker; `end` is the index of the last date inside the window. */
type Fault = (ticker: Ticker, end: number) => void;

const set = (cells: Cell[], from: number, to: number, value: Cell) => cells.fill(value, from, to);

function reversedColumns(ticker: Ticker): void {
  ticker.columns = new Map([...ticker.columns].reverse());
}

const FAULTS: readonly (readonly [name: string, fault: Fault])[] = [
  ["AAA", () => undefined],
  [
    "10",
    ({ prices }, end) => {
      prices[0] = 0;
      prices[40] = 0;
      prices[41] = -5;
      prices[60] = null;
      prices[61] = Number.NaN;
      prices[90] = Number.POSITIVE_INFINITY;
      prices[91] = Number.NEGATIVE_INFINITY;
      prices[end - 12] = -1;
    },
  ],
  // From a Friday to the Monday ten days later there is a label; with one day more, there is none.
  [
    "2",
    (ticker) => {
      set(ticker.prices, 55, 60, null);
      set(ticker.prices, 120, 126, null);
      reversedColumns(ticker);
    },
  ],
  [
    "__proto__",
    ({ columns }) => {
      set(columns.get("noise")!, 0, LEARNED + 1, null);
      set(columns.get("vol_20")!, 0, 20, null);
      columns.get("mom_5")![100] = Number.NaN;
    },
  ],
  [
    "ŠKODA",
    (ticker) => {
      ticker.columns.delete("level");
      ticker.columns.set("constructor", [...ticker.columns.get("10")!].reverse());
      set(ticker.columns.get("10")!, 0, 12, null);
      ticker.columns.get("mom_5")![30] = Number.POSITIVE_INFINITY;
      ticker.columns.get("2")![LEARNED + 5] = null;
    },
  ],
  ["～wide", ({ columns }) => set(columns.get("noise")!, 0, DATES.length, Number.NaN)],
  ["😀", reversedColumns],
  ["ONLY_PRICES", () => undefined],
  ["ONLY_FEATURES", () => undefined],
  ["SHORT", ({ prices }, end) => set(prices, 0, end - 26, null)],
  // The last price of any ticker is at `end`: ten calendar days before is fresh, eleven is stale.
  ["TEN_DAYS", ({ prices }, end) => set(prices, indexBefore(end, 10) + 1, DATES.length, null)],
  ["ELEVEN_DAYS", ({ prices }, end) => set(prices, indexBefore(end, 11) + 1, DATES.length, null)],
  ["LATE_FEATURES", ({ columns }, end) => set(columns.get("2")!, end - 5, DATES.length, null)],
  // With a Learning_end, 45 and 44 fit rows: just enough for one fold of 15 rows, and just too few.
  ["ONE_FOLD", ({ prices }) => set(prices, 0, LEARNED - 45, null)],
  ["NO_FOLDS", ({ prices }) => set(prices, 0, LEARNED - 44, null)],
];

/**
 * Every fault at once. With `learningEnd` (a Saturday), the window has no start, and there are prices after its end; without it, the window
 * has no end, and there are prices before its start.
 */
export function dirtyMarket({ learningEnd }: { learningEnd: boolean }): Market {
  const end = learningEnd ? END : DATES.length - 1;
  const tickers = new Map(FAULTS.map(([name, fault], i) => [name, dirtyTicker(i, name, fault, end)]));
  const prices = new Map([...tickers].map(([name, ticker]) => [name, ticker.prices]));
  const features = new Map([...tickers].map(([name, ticker]) => [name, ticker.columns]));
  prices.delete("ONLY_FEATURES");
  features.delete("ONLY_PRICES");
  const bounds: Bounds = learningEnd
    ? { end: DATES[END]!, Learning_end: daysLater(DATES[LEARNED]!, 1) }
    : { start: DATES[5]!, end: null, Learning_end: null };
  return scrambled({ bounds, priceDates: DATES, prices, featureDates: DATES, features });
}

function dirtyTicker(index: number, name: string, fault: Fault, end: number): Ticker {
  const series = tickerSeries(500 + index, DATES.length);
  const ticker: Ticker = { prices: series.prices, columns: new Map(series.columns) };
  // Reading anything outside the window would change every label.
  if (end === END) set(ticker.prices, END + 1, DATES.length, 1e9);
  else set(ticker.prices, 0, 5, 1e9);
  // Without a start, the window begins at the first valid price.
  if (end === END) ticker.prices[0] = null;
  // The ticker without features trades after all others.
  if (name !== "ONLY_PRICES") set(ticker.prices, end - 1, end + 1, null);
  fault(ticker, end);
  return ticker;
}

function daysLater(date: string, days: number): string {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

/** Index of the date `days` calendar days before that of `index`. */
function indexBefore(index: number, days: number): number {
  const found = DATES.indexOf(daysLater(DATES[index]!, -days));
  if (found < 0) throw new Error(`no date ${days} days before ${DATES[index]}`);
  return found;
}

/** Dates out of order, some as date-times; the feature blob lacks three of them and has two additional Sundays. */
function scrambled(market: Market): Market {
  const priceOrder = new Seeded(1).shuffle([...DATES.keys()]);
  const lacking = new Set([33, 150, LEARNED + 8]);
  const featureOrder = new Seeded(2).shuffle([...DATES.keys()].filter((i) => !lacking.has(i)));
  const at = (order: readonly number[], cells: readonly Cell[]) => order.map((i) => cells[i]!);
  return {
    bounds: market.bounds,
    priceDates: priceOrder.map((i) => (i % 7 === 0 ? `${DATES[i]}T00:00:00+09:00` : DATES[i]!)),
    prices: new Map([...market.prices].map(([name, cells]) => [name, at(priceOrder, cells)])),
    featureDates: [...featureOrder.map((i) => DATES[i]!), "2021-03-07", "2021-11-07"],
    features: new Map(
      [...market.features].map(([name, columns]) => [
        name,
        new Map([...columns].map(([column, cells]) => [column, [...at(featureOrder, cells), 0.5, null]])),
      ]),
    ),
  };
}
