import {
  compareCodePoints,
  type RequestedWindow,
  type TickerSeries,
} from "../contract/market/ticker-series.ts";
import { cut, sourceOf } from "./chunks.testing.ts";
import type { BlobKind } from "./field-names.ts";
import { readBlob } from "./read-blob.ts";

/** Reads a blob of any format, its tickers in code point order. @param lengths of the chunks that its bytes come in. */
export async function readBytes(
  kind: BlobKind,
  bytes: Uint8Array,
  workFolder: string,
  lengths: readonly number[] = [],
): Promise<{ readonly window: RequestedWindow; readonly tickers: readonly TickerSeries[] }> {
  const tickers: TickerSeries[] = [];
  const steps = readBlob(kind, sourceOf(cut(bytes, lengths), "blob.parquet"), { workFolder });
  for (;;) {
    const step = await steps.next();
    if (step.done !== true) tickers.push(step.value);
    else
      return { window: step.value, tickers: tickers.sort((a, b) => compareCodePoints(a.ticker, b.ticker)) };
  }
}
