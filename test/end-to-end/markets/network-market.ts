/** Markets on which networks train in a moment. */
import { dirtyMarket } from "./dirty-market.ts";
import { type Cell, type Market, tickerSeries, weekdays } from "./market.ts";

export const TICKERS = ["AAPL", "MSFT", "JPM", "KO"] as const;
/** The last date of training; the market has 30 more dates. */
export const LEARNING_END = weekdays(130).at(-1)!;

/** Four tickers without gaps over 160 dates. */
export function smallMarket(): Market {
  const dates = weekdays(160);
  const series = TICKERS.map((ticker, i) => [ticker, tickerSeries(300 + i, dates.length)] as const);
  return {
    bounds: { start: dates[0]!, end: dates.at(-1)!, Learning_end: LEARNING_END },
    priceDates: dates,
    prices: new Map(series.map(([ticker, { prices }]) => [ticker, prices])),
    featureDates: dates,
    features: new Map(series.map(([ticker, { columns }]) => [ticker, columns])),
  };
}

/** The new value of a cell, by its date. */
export type Change = (cell: Cell, date: string) => Cell;

/** The market with one ticker's prices changed. */
export function withPrices(market: Market, ticker: string, change: Change): Market {
  const cells = market.prices.get(ticker)!.map((cell, i) => change(cell, market.priceDates[i]!));
  return { ...market, prices: new Map([...market.prices, [ticker, cells]]) };
}

/** The market with one ticker's features changed, either all of them or the named ones. */
export function withFeatures(
  market: Market,
  ticker: string,
  change: Change,
  names?: readonly string[],
): Market {
  const columns = [...market.features.get(ticker)!].map(
    ([name, cells]) =>
      [
        name,
        names === undefined || names.includes(name)
          ? cells.map((cell, i) => change(cell, market.featureDates[i]!))
          : cells,
      ] as const,
  );
  return { ...market, features: new Map([...market.features, [ticker, new Map(columns)]]) };
}

/** The market without some tickers. */
export function without(market: Market, ...tickers: readonly string[]): Market {
  const kept = <T>(all: ReadonlyMap<string, T>) => new Map([...all].filter(([t]) => !tickers.includes(t)));
  return { ...market, prices: kept(market.prices), features: kept(market.features) };
}

const day = (date: string) => date.slice(0, 10);

/** The first of a market's dates, and the date `count` days later in it. */
function dateAt(market: Market, count: number): string {
  return market.priceDates.map(day).sort()[count]!;
}

/**
 * Every fault of the dirty market, and those that concern networks: a ticker listed late, tickers that miss every third date (so that
 * labels are realised later than the next date of the others), and a price that never moves.
 */
export function dirtyNetworkMarket({ learningEnd }: { learningEnd: boolean }): Market {
  let market = dirtyMarket({ learningEnd });
  const sorted = market.priceDates.map(day).sort();
  const place = new Map(sorted.map((date, i) => [date, i]));
  const copied = (from: string, to: string) => {
    market = {
      ...market,
      prices: new Map([...market.prices, [to, market.prices.get(from)!]]),
      features: new Map([...market.features, [to, market.features.get(from)!]]),
    };
  };
  copied("AAA", "LISTED_LATE");
  market = withPrices(market, "LISTED_LATE", (cell, date) => (day(date) < dateAt(market, 95) ? null : cell));
  for (const offset of [0, 1, 2]) {
    const ticker = `THIRD_${offset}`;
    copied("ŠKODA", ticker);
    market = withPrices(market, ticker, (cell, date) => (place.get(day(date))! % 3 === offset ? null : cell));
  }
  copied("AAA", "STILL");
  return withPrices(market, "STILL", (cell) => (cell === null ? null : 12.5));
}
