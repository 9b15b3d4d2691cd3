/** Markets for code that compares the tickers of a date. */
import { type Cell, type Market, tickerSeries, weekdays } from "./market.ts";

const DATES = weekdays(170);
/** The last 20 dates are dated after it. */
const LEARNING_END = DATES[149]!;

const NAMES = ["AAPL", "MSFT", "10", "XOM", "KO", "ŠKODA", "😀"];

interface Ticker {
  readonly prices: Cell[];
  readonly columns: Map<string, Cell[]>;
}

/** Seven tickers without gaps over 170 dates. */
export function panelMarket(): Market {
  return marketOf(new Map(NAMES.map((name, i) => [name, whole(i)])));
}

/**
 * The same with late listings, so that early dates have fewer than five tickers, with gaps in prices, dates that some tickers miss,
 * features that some lack, and a feature that only four have.
 */
export function dirtyPanelMarket(): Market {
  const tickers = new Map(NAMES.map((name, i) => [name, whole(i)]));
  const of = (name: string) => tickers.get(name)!;
  of("XOM").prices.fill(null, 0, 12);
  of("KO").prices.fill(null, 0, 18);
  of("10").prices.fill(null, 0, 9);
  of("ŠKODA").prices.fill(null, 0, 9);
  of("AAPL").columns.delete("level");
  of("ŠKODA").columns.get("noise")!.fill(Number.NaN);
  // The first has labels across the gap, the second has none.
  of("MSFT").prices.fill(null, 60, 65);
  of("MSFT").prices.fill(null, 100, 110);
  for (let i = 25; i < DATES.length; i += 9) of("😀").prices[i] = null;
  for (let i = 29; i < DATES.length - 1; i += 13) of("AAPL").columns.get("2")![i] = null;
  // On these dates only four tickers have rows.
  for (const name of ["10", "XOM", "KO"]) of(name).prices.fill(null, 80, 82);
  for (const name of ["10", "XOM", "KO", "😀"])
    of(name).columns.set("four", [...of(name).columns.get("10")!].reverse());
  const other = reversed(whole(NAMES.length));
  other.prices.fill(null, 0, 9);
  tickers.set("REVERSED", other);
  // It has 30 fit rows, but too few on dates with five tickers.
  const early = whole(NAMES.length + 1);
  early.prices.fill(null, 34, DATES.length);
  tickers.set("EARLY", early);
  const late = whole(NAMES.length + 2);
  late.prices.fill(null, 0, 112);
  tickers.set("LATE", late);
  return marketOf(tickers);
}

/**
 * The market with additional tickers that begin around the cut of `learningUntil`, each with its own faults: two that join later, one of
 * them with fewer features and one with more, one whose prices end before its forecasts begin, one that ends after, and one that has too
 * few rows.
 */
export function lateListings(market: Market): Market {
  const tickers = new Map<string, Ticker>();
  const list = (name: string, first: number, end = DATES.length) => {
    const ticker = whole(NAMES.length + 3 + tickers.size);
    ticker.prices.fill(null, 0, first);
    ticker.prices.fill(null, end);
    tickers.set(name, ticker);
    return ticker;
  };
  const fewer = list("FEWER", 88);
  fewer.columns.delete("level");
  fewer.columns.get("mom_5")!.fill(Number.NaN, 0, 108);
  for (let i = 91; i < DATES.length - 1; i += 11) fewer.prices[i] = null;
  const more = list("MORE", 101);
  more.columns.set("own", [...more.columns.get("10")!].reverse());
  for (let i = 103; i < DATES.length; i += 8) more.columns.get("own")![i] = null;
  more.prices.fill(null, 126, 130);
  // It has 30 fit rows on a date on which it no longer has a row.
  list("ENDED", 86, 119);
  list("ENDING", 93, 141);
  list("TOO_LATE", 142);
  const prices = [...tickers].map(([name, ticker]) => [name, ticker.prices] as const);
  const features = [...tickers].map(([name, ticker]) => [name, ticker.columns] as const);
  return {
    ...market,
    prices: new Map([...market.prices, ...prices]),
    features: new Map([...market.features, ...features]),
  };
}

/** The market with about 60 dates to forecast. @param cut `Learning_end`, in the middle of its dates. */
export function learningUntil(cut: string, market: Market): Market {
  return { ...market, bounds: { ...market.bounds, Learning_end: cut } };
}

function whole(seed: number): Ticker {
  const { prices, columns } = tickerSeries(900 + seed, DATES.length);
  return { prices, columns };
}

function reversed({ prices, columns }: Ticker): Ticker {
  return { prices, columns: new Map([...columns].reverse()) };
}

function marketOf(tickers: ReadonlyMap<string, Ticker>): Market {
  return {
    bounds: { start: DATES[0]!, end: DATES.at(-1)!, Learning_end: LEARNING_END },
    priceDates: DATES,
    prices: new Map([...tickers].map(([name, { prices }]) => [name, prices])),
    featureDates: DATES,
    features: new Map([...tickers].map(([name, { columns }]) => [name, columns])),
  };
}
