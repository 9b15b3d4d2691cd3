import type { ByteSource, TickerFeatures } from "../contract/market/ticker-series.ts";
import { BlockStore } from "./block-store.ts";
import { type ReadOptions, readBlob } from "./read-blob.ts";
import { rowNumbers, withoutColumns } from "./row-numbers.ts";

/**
 * Reads a feature blob, in any of the layouts of docs/blobs.md.
 *
 * @returns one ticker at a time, once it is complete. In the canonical layout, that is while the stream is read; if rows of tickers are
 * mixed, or dates come last, it is at the stream's end. The largest ticker bounds the memory. Only when the generator has ended without an
 * error is the whole blob known to be valid.
 * @throws MucastError `unreadable_blob` for bytes that are not JSON text, `invalid_data` for JSON without usable
 *   features, `too_large` over a limit, `output_failed` if the work folder is full; and the errors of the
 *   source and of the signal.
 */
export async function* readFeatures(
  source: ByteSource,
  { workFolder, ...options }: ReadOptions,
): AsyncGenerator<TickerFeatures, void, void> {
  const store = new BlockStore(workFolder);
  try {
    for await (const series of readBlob("features", source, store, options)) {
      yield withoutColumns(series, rowNumbers([series]));
    }
  } finally {
    store.close();
  }
}
