import type { ByteSource } from "../../contract/market/ticker-series.ts";
import { unreadable } from "../blob-errors.ts";

/** Zero bytes after the contents, so that a scan need not check for the end at every byte. */
const SENTINELS = 8;
const CAPACITY = 256 * 1024;
/** Maximum size of a string or number in bytes; real ones have a few dozen. */
const MAX_TOKEN_LENGTH = 16 * 1024 * 1024;

/**
 * The part of a blob that is in memory: `bytes[position, end)`, followed by zeros. The reader moves `position`. A token that is cut off at
 * `end` stays in the window until the reader refills it.
 */
export class ByteWindow {
  bytes = new Uint8Array(CAPACITY + SENTINELS);
  position = 0;
  end = 0;
  /** Whether `end` is the end of the blob. */
  finished = false;
  readonly source: string;
  #base = 0;
  #chunk: Uint8Array = new Uint8Array(0);
  #wanted = 1;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #signal: AbortSignal | undefined;

  constructor(source: ByteSource, signal?: AbortSignal) {
    this.source = source.name;
    this.#chunks = source.chunks[Symbol.asyncIterator]();
    this.#signal = signal;
  }

  offset(position: number): number {
    return this.#base + position;
  }

  /**
   * Drops the bytes before `position` and reads more. If `position` has not moved since the last call, it at least doubles the bytes, so
   * that a long token in tiny chunks is not scanned repeatedly.
   */
  async refill(): Promise<void> {
    this.#signal?.throwIfAborted();
    const kept = this.end - this.position;
    this.#wanted = this.position === 0 && this.end > 0 ? Math.max(1, kept) : 1;
    if (kept > MAX_TOKEN_LENGTH) {
      throw unreadable(
        this.source,
        this.#base,
        `a string or number longer than ${MAX_TOKEN_LENGTH} bytes begins`,
      );
    }
    this.#shift(kept);
    this.#grow(kept + this.#wanted);
    const goal = kept + this.#wanted;
    while (this.end < goal && !this.finished) {
      if (this.#chunk.length === 0) await this.#pull();
      this.#take();
    }
    this.bytes.fill(0, this.end, this.end + SENTINELS);
  }

  async close(): Promise<void> {
    if (!this.finished) await this.#chunks.return?.();
    this.finished = true;
  }

  #shift(kept: number): void {
    this.bytes.copyWithin(0, this.position, this.end);
    this.#base += this.position;
    this.position = 0;
    this.end = kept;
  }

  #grow(length: number): void {
    if (length + SENTINELS <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(length, 2 * this.bytes.length) + SENTINELS);
    larger.set(this.bytes.subarray(0, this.end));
    this.bytes = larger;
  }

  async #pull(): Promise<void> {
    const next = await this.#chunks.next();
    if (next.done === true) this.finished = true;
    else this.#chunk = next.value;
    this.#signal?.throwIfAborted();
  }

  #take(): void {
    const room = this.bytes.length - SENTINELS - this.end;
    const part = this.#chunk.length > room ? this.#chunk.subarray(0, room) : this.#chunk;
    this.bytes.set(part, this.end);
    this.end += part.length;
    this.#chunk = this.#chunk.subarray(part.length);
  }
}
