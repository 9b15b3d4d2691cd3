/** A market's two blobs in the other layouts that are in use. */
import { type Cell, jsonText, type Market } from "./market.ts";

/** Names of prices and features, and each ticker's columns in order, from which every layout is made. */
interface Side {
  readonly dates: readonly string[];
  readonly tickers: ReadonlyMap<string, ReadonlyMap<string, readonly Cell[]>>;
}

type Write = (side: Side) => unknown;

const overTickers = (side: Side, write: (columns: ReadonlyMap<string, readonly Cell[]>) => unknown) =>
  new Map([...side.tickers].map(([ticker, columns]) => [ticker, write(columns)]));

const rows = ({ dates }: Side, columns: ReadonlyMap<string, readonly Cell[]>) =>
  dates.map((date, i) => [date, new Map([...columns].map(([name, cells]) => [name, cells[i]!]))] as const);

const LAYOUTS: Readonly<Record<string, Write>> = {
  "flat records": (side) =>
    side.dates.flatMap((_, i) =>
      [...side.tickers].map(([ticker, columns]) => {
        const [date, row] = rows(side, columns)[i]!;
        return new Map<string, unknown>([["Ticker", ticker], ["Date", date], ...row]);
      }),
    ),
  "records by ticker": (side) =>
    overTickers(side, (columns) =>
      rows(side, columns).map(
        ([date, row]) => new Map<string, unknown>([["date", `${date}T00:00:00Z`], ...row]),
      ),
    ),
  "nested by date": (side) => overTickers(side, (columns) => new Map(rows(side, columns))),
  "nested by column": (side) =>
    overTickers(
      side,
      (columns) =>
        new Map(
          [...columns].map(([name, cells]) => [
            name,
            new Map(side.dates.map((date, i) => [String(Date.parse(date)), cells[i]!])),
          ]),
        ),
    ),
  "split tables by ticker": (side) =>
    overTickers(side, (columns) => ({
      columns: [...columns.keys()],
      index: side.dates,
      data: rows(side, columns).map(([, row]) => [...row.values()]),
    })),
  "columns with their own dates": (side) =>
    overTickers(side, (columns) => new Map<string, unknown>([["dates", side.dates], ...columns])),
};

/** Text of both blobs by the name of the layout. The order of columns is the same for all. */
export function* otherLayouts(
  market: Market,
): Generator<readonly [name: string, features: string, prices: string]> {
  const { start, end, Learning_end } = market.bounds;
  const prices = {
    dates: market.priceDates,
    tickers: new Map([...market.prices].map(([ticker, cells]) => [ticker, new Map([["Adj Close", cells]])])),
  };
  const features = { dates: market.featureDates, tickers: market.features };
  for (const [name, write] of Object.entries(LAYOUTS)) {
    yield [
      name,
      jsonText({ data: write(features) }),
      jsonText({
        metadata: { sample_start: start, end_date: end, learning_END: Learning_end },
        prices: write(prices),
      }),
    ];
    const bounds = { window: { start_date: start, sample_end: end, learning_end: Learning_end } };
    const split = {
      columns: [...market.prices.keys()],
      index: market.priceDates,
      data: market.priceDates.map((_, i) => [...market.prices.values()].map((cells) => cells[i]!)),
    };
    if (name === "split tables by ticker") {
      yield [
        "one split table of prices",
        jsonText({ features: write(features) }),
        jsonText({ ...bounds, data: split }),
      ];
    }
  }
}
