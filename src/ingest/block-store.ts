import type { TickerSeries } from "../contract/market/ticker-series.ts";
import { NamelessFile } from "./nameless-file.ts";

/** The number of float64 values to keep in memory: 64 MiB. */
const IN_MEMORY = 8 * 1024 * 1024;

/** The position of a block in the store, in float64 values. */
export interface BlockSpan {
  readonly at: number;
  readonly length: number;
}

/**
 * Blocks of float64, written once and read any number of times. The first 64 MiB stay in memory. The others go to a nameless file in the
 * work folder.
 */
export class BlockStore {
  readonly #folder: string;
  readonly #file: NamelessFile;
  /** Values that stay in memory before the first goes to disk. Callers may hold as many rows before they append them. */
  readonly inMemory: number;
  /** Sorted by `at`, ascending. */
  readonly #blocks = new Map<number, Float64Array>();
  #length = 0;
  /** The number of values in memory: all spans that start below it. */
  #kept = 0;

  /** @param inMemory number of values kept in memory; tests pass another number. */
  constructor(folder: string, inMemory = IN_MEMORY) {
    this.#folder = folder;
    this.#file = this.newFile();
    this.inMemory = inMemory;
  }

  /** Whether some blocks are in a file. */
  get isOnDisk(): boolean {
    return this.#file.exists;
  }

  /** A further file in the same folder; the caller closes it. */
  newFile(): NamelessFile {
    return new NamelessFile(this.#folder);
  }

  /** Stores a copy of `values`. */
  append(values: Float64Array): BlockSpan {
    const span = { at: this.#length, length: values.length };
    if (!this.isOnDisk && this.#length + values.length <= this.inMemory) {
      this.#blocks.set(span.at, values.slice());
      this.#kept += values.length;
    } else this.#file.write(bytesOf(values), 8 * (span.at - this.#kept));
    this.#length += values.length;
    return span;
  }

  /** Writes the values [from, from + into.length) of a block into `into`. */
  read(block: BlockSpan, from: number, into: Float64Array): void {
    if (block.at < this.#kept) {
      into.set(this.#blocks.get(block.at)!.subarray(from, from + into.length));
      return;
    }
    this.#file.read(bytesOf(into), 8 * (block.at - this.#kept + from));
  }

  close(): void {
    this.#blocks.clear();
    this.#file.close();
  }
}

function bytesOf(values: Float64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

interface StoredSeries {
  readonly columns: readonly string[];
  readonly days: BlockSpan;
  readonly values: BlockSpan;
}

/** The series of many tickers by name, each stored until it is taken; their days and values are in a block store. */
export class SeriesStore {
  readonly #store: BlockStore;
  readonly #tickers = new Map<string, StoredSeries>();
  #lastColumns: readonly string[] = [];

  /** @param store may also contain other series; the caller closes it. */
  constructor(store: BlockStore) {
    this.#store = store;
  }

  /** Stores a copy. */
  add({ ticker, columns, days, values }: TickerSeries): void {
    // Nearly all tickers have the same columns.
    if (!isEqual(columns, this.#lastColumns)) this.#lastColumns = [...columns];
    this.#tickers.set(ticker, {
      columns: this.#lastColumns,
      days: this.#store.append(Float64Array.from(days)),
      values: this.#store.append(values),
    });
  }

  /** @returns the series of a ticker and removes it; undefined if there is none. */
  take(ticker: string): TickerSeries | undefined {
    const stored = this.#tickers.get(ticker);
    if (stored === undefined) return undefined;
    this.#tickers.delete(ticker);
    const days = new Float64Array(stored.days.length);
    const values = new Float64Array(stored.values.length);
    this.#store.read(stored.days, 0, days);
    this.#store.read(stored.values, 0, values);
    return { ticker, columns: stored.columns, days: Int32Array.from(days), values };
  }

  /** Tickers whose series are stored, in the order in which they were added. */
  tickers(): string[] {
    return [...this.#tickers.keys()];
  }
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}
