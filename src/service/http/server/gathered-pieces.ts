import { pipeline, type Readable, Transform, type TransformCallback } from "node:stream";

/** Bytes of a gathered piece; the last one of a stream may be smaller. */
const PIECE_BYTES = 64 * 2 ** 10;

/** Bytes that are allocated for the first piece. */
const FIRST_BYTES = 1 * 2 ** 10;

const EMPTY = Buffer.alloc(0);

/**
 * Joins the small pieces of a body into pieces of 64 KiB. A client may send it in chunks of one byte, and Node keeps each in a
 * separate buffer, which takes hundreds of bytes. If the body ends early, the gathered stream ends with that error.
 */
export function gatheredPieces(body: Readable): Readable {
  return pipeline(body, new GatheredPieces(), () => undefined);
}

class GatheredPieces extends Transform {
  #gathered: Buffer = EMPTY;
  #length = 0;

  override _transform(piece: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const length = this.#length + piece.length;
    if (length > this.#gathered.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#gathered.length, FIRST_BYTES));
      this.#gathered.copy(larger, 0, 0, this.#length);
      this.#gathered = larger;
    }
    piece.copy(this.#gathered, this.#length);
    this.#length = length;
    if (length >= PIECE_BYTES) this.#pass();
    done();
  }

  override _flush(done: TransformCallback): void {
    if (this.#length > 0) this.#pass();
    done();
  }

  #pass(): void {
    this.push(this.#gathered.subarray(0, this.#length));
    this.#gathered = EMPTY;
    this.#length = 0;
  }
}
