/** A market's two blobs as Parquet tables: features with a row per ticker and date, prices with a column per ticker. */
import { tableBytes } from "../../../src/ingest/random-tables.testing.ts";
import type { Cell, Market } from "./market.ts";

const DAY = 86_400_000;

export function marketTables(market: Market): { readonly features: Uint8Array; readonly prices: Uint8Array } {
  return { features: featureTable(market), prices: priceTable(market) };
}

function featureTable({ features, featureDates }: Market): Uint8Array {
  const tickers = [...features];
  const [, columns] = tickers[0]!;
  const rows = featureDates.flatMap((date, i) => tickers.map(([ticker, own]) => ({ date, ticker, own, i })));
  const values = [...columns.keys()].map((name) =>
    numbers(
      name,
      rows.map(({ own, i }) => own.get(name)![i]!),
    ),
  );
  const ticker = {
    element: { name: "ticker", type: "BYTE_ARRAY", converted_type: "UTF8" } as const,
    encoding: "RLE_DICTIONARY" as const,
    data: rows.map((row) => row.ticker),
  };
  return tableBytes([ticker, days(rows.map(({ date }) => date)), ...values], {
    codec: "ZSTD",
    rowGroupSize: 300,
  });
}

function priceTable({ prices, priceDates, bounds }: Market): Uint8Array {
  const columns = [days(priceDates), ...[...prices].map(([ticker, cells]) => numbers(ticker, cells))];
  const metadata = Object.entries(bounds).flatMap(([key, value]) => (value ? [{ key, value }] : []));
  return tableBytes(columns, { kvMetadata: metadata });
}

function days(dates: readonly string[]) {
  const element = { name: "date", type: "INT32", converted_type: "DATE" } as const;
  return {
    element,
    encoding: "DELTA_BINARY_PACKED" as const,
    data: dates.map((date) => Date.parse(date) / DAY),
  };
}

function numbers(name: string, data: readonly Cell[]) {
  return {
    element: { name, type: "DOUBLE", repetition_type: "OPTIONAL" } as const,
    encoding: "PLAIN" as const,
    data,
  };
}
