import { randomUUID } from "node:crypto";
import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { workFolderError } from "../contract/errors/system-error.ts";
import type { TickerSeries } from "../contract/market/ticker-series.ts";

/** The number of float64 values to keep in memory: 64 MiB. */
const IN_MEMORY = 8 * 1024 * 1024;

/** The position of a block in the store, in float64 values. */
export interface BlockSpan {
  readonly at: number;
  readonly length: number;
}

/**
 * Blocks of float64, written once and read any number of times. The first 64 MiB stay in memory. The others go to a file in the work
 * folder. The store creates that file when it needs it and unlinks it at once, so that the system frees it when the process ends at the
 * latest.
 */
export class BlockStore {
  readonly #folder: string;
  /** Values that stay in memory before the first goes to disk. Callers may hold as many rows before they append them. */
  readonly inMemory: number;
  /** Sorted by `at`, ascending. */
  readonly #blocks = new Map<number, Float64Array>();
  #length = 0;
  /** The number of values in memory: all spans that begin below it. */
  #kept = 0;
  #file: number | undefined;

  /** @param inMemory number of values kept in memory; tests pass another number. */
  constructor(folder: string, inMemory = IN_MEMORY) {
    this.#folder = folder;
    this.inMemory = inMemory;
  }

  /** Whether some blocks are in a file. */
  get isOnDisk(): boolean {
    return this.#file !== undefined;
  }

  /** Stores a copy of `values`. @throws MucastError output_failed if the disk is full. */
  append(values: Float64Array): BlockSpan {
    const span = { at: this.#length, length: values.length };
    if (this.#file === undefined && this.#length + values.length <= this.inMemory) {
      this.#blocks.set(span.at, values.slice());
      this.#kept += values.length;
    } else this.#write(bytesOf(values), span.at);
    this.#length += values.length;
    return span;
  }

  /** Writes the values [from, from + into.length) of a block into `into`. */
  read(block: BlockSpan, from: number, into: Float64Array): void {
    if (block.at < this.#kept) {
      into.set(this.#blocks.get(block.at)!.subarray(from, from + into.length));
      return;
    }
    const bytes = bytesOf(into);
    let done = 0;
    while (done < bytes.length) {
      const position = 8 * (block.at - this.#kept + from) + done;
      const count = this.#readInto(bytes, done, position);
      if (count === 0) throw new Error(`the work file in ${this.#folder} was cut short`);
      done += count;
    }
  }

  close(): void {
    this.#blocks.clear();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #readInto(bytes: Uint8Array, done: number, position: number): number {
    try {
      return readSync(this.#file!, bytes, done, bytes.length - done, position);
    } catch (error) {
      throw workFolderError("read", error);
    }
  }

  #write(bytes: Uint8Array, at: number): void {
    try {
      this.#file ??= openNameless(this.#folder);
      let done = 0;
      while (done < bytes.length) {
        const position = 8 * (at - this.#kept) + done;
        done += writeSync(this.#file, bytes, done, bytes.length - done, position);
      }
    } catch (error) {
      throw workFolderError("written", error);
    }
  }
}

function bytesOf(values: Float64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function openNameless(folder: string): number {
  const path = join(folder, `columns-${randomUUID()}`);
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return file;
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

  /** Stores a copy. @throws MucastError output_failed if the disk is full. */
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
