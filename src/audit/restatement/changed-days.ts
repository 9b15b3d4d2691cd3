/** Bits of a chunk: 1,024 days. */
const CHUNK_BITS = 10;
const CHUNK_WORDS = 2 ** (CHUNK_BITS - 5);

/** A set of days that takes 128 bytes for each 1,024 days with a member: each of thousands of features keeps one. */
export class ChangedDays {
  readonly #chunks = new Map<number, Int32Array>();
  size = 0;
  first = Number.POSITIVE_INFINITY;
  last = Number.NEGATIVE_INFINITY;

  add(day: number): void {
    const chunk = this.#chunk(day >> CHUNK_BITS);
    const word = (day >> 5) & (CHUNK_WORDS - 1);
    const bit = 1 << (day & 31);
    if ((chunk[word]! & bit) !== 0) return;
    chunk[word]! |= bit;
    this.size++;
    this.first = Math.min(this.first, day);
    this.last = Math.max(this.last, day);
  }

  #chunk(index: number): Int32Array {
    let chunk = this.#chunks.get(index);
    if (chunk === undefined) {
      chunk = new Int32Array(CHUNK_WORDS);
      this.#chunks.set(index, chunk);
    }
    return chunk;
  }
}
