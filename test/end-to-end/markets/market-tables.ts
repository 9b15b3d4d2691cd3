/** A market's two blobs as Parquet tables: features with a row per ticker and date, prices with a column per ticker. */
import { parquetWriteBuffer } from "hyparquet-writer";
import type { Cell, Market } from "./market.ts";

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
  const ticker = { name: "ticker", data: rows.map((row) => row.ticker) };
  const date = { name: "date", data: rows.map((row) => row.date) };
  const columnData = [ticker, date, ...values];
  return new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize: 300 }));
}

function priceTable({ prices, priceDates, bounds }: Market): Uint8Array {
  const date = { name: "date", data: priceDates.map((text) => new Date(text)) };
  const columnData = [date, ...[...prices].map(([ticker, cells]) => numbers(ticker, cells))];
  const kvMetadata = Object.entries(bounds).flatMap(([key, value]) => (value ? [{ key, value }] : []));
  return new Uint8Array(parquetWriteBuffer({ columnData, kvMetadata }));
}

function numbers(name: string, data: readonly Cell[]) {
  return { name, data: [...data], type: "DOUBLE" as const, nullable: true };
}
