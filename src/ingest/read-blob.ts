import { type BlobLimits, DEFAULT_BLOB_LIMITS } from "../contract/blob-limits.ts";
import { Turns } from "../contract/machine/pausable.ts";
import type { ByteSource, RequestedWindow, TickerSeries } from "../contract/market/ticker-series.ts";
import { BlobNames } from "./blob-names.ts";
import type { BlockStore } from "./block-store.ts";
import { type BlobKind, ColumnRoles } from "./column-names.ts";
import { ByteWindow } from "./json/byte-window.ts";
import { Doubles } from "./json/doubles.ts";
import { checkEncoding } from "./json/encoding.ts";
import { JsonReader } from "./json/json-reader.ts";
import { readDocument } from "./layouts/document.ts";
import type { Reading, Steps } from "./reading.ts";

export interface ReadOptions {
  /** An existing private folder for columns that do not fit into memory. No file remains in it. */
  readonly workFolder: string;
  /** Aborts the reading, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The defaults if it is missing. */
  readonly limits?: BlobLimits | undefined;
}

/**
 * Reads a blob and yields each ticker once it is complete. Only when the generator has returned is the whole blob known to be valid.
 * @returns the window of the blob.
 */
export async function* readBlob(
  kind: BlobKind,
  source: ByteSource,
  store: BlockStore,
  { signal, limits = DEFAULT_BLOB_LIMITS }: Omit<ReadOptions, "workFolder">,
): AsyncGenerator<TickerSeries, RequestedWindow, void> {
  const bytes = new ByteWindow(source, signal);
  const reading: Reading = {
    kind,
    source: source.name,
    json: new JsonReader(bytes),
    store,
    roles: new ColumnRoles(kind),
    limits,
    names: new BlobNames(limits),
    tickers: new Set(),
    buffer: new Doubles(),
  };
  const steps = readWhole(bytes, reading);
  const turns = new Turns(signal);
  try {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (step.value === undefined) await bytes.refill();
      else {
        // Tickers with mixed rows come at the end, one after the other, without waiting for bytes in between.
        await turns.pauseIfOver();
        yield step.value;
      }
    }
  } finally {
    await bytes.close();
  }
}

function* readWhole(bytes: ByteWindow, reading: Reading): Steps<RequestedWindow> {
  yield* checkEncoding(bytes);
  return yield* readDocument(reading);
}
