import type { ByteSource, TickerFeatures } from "../contract/data/ticker-series.ts";
import { BlockStore } from "./block-store.ts";
import { type ReadOptions, readBlob } from "./read-blob.ts";

/**
 * Reads a feature blob, in any of the layouts of docs/blobs.md.
 *
 * @returns one ticker at a time, as soon as it is complete: in the canonical layout while the stream is still being
 *   read; where the rows of tickers are mixed, or their dates come last, once the stream has ended. Memory is bounded
 *   by the largest ticker. Only when the generator ends without an error was the blob valid to its last byte.
 * @throws MucastError `unreadable_blob` for bytes that are no JSON text, `invalid_data` for JSON without usable
 *   features, `too_large` over a limit, `output_failed` where the work folder is full; and whatever the source or
 *   the signal throws.
 */
export async function* readFeatures(
  source: ByteSource,
  { workFolder, ...options }: ReadOptions,
): AsyncGenerator<TickerFeatures, void, void> {
  const store = new BlockStore(workFolder);
  try {
    yield* readBlob("features", source, store, options);
  } finally {
    store.close();
  }
}
