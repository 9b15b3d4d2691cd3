import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { gatheredPieces } from "./gathered-pieces.ts";

const MAX_BYTES = 64 * 2 ** 10;

function gathered(pieces: readonly Uint8Array[]): Promise<Buffer[]> {
  return gatheredPieces(Readable.from(pieces.map((piece) => Buffer.from(piece)))).toArray();
}

test("the bytes are those of the stream, in order", async () => {
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40_000 }), { maxLength: 12 });
  const property = fc.asyncProperty(pieces, async (given) => {
    assert.deepEqual(Buffer.concat(await gathered(given)), Buffer.concat(given));
  });
  await fc.assert(property, { seed: 1, numRuns: 50 });
});

test("262,144 pieces of one byte become four", async () => {
  const pieces = Array.from({ length: 4 * MAX_BYTES }, (_, i) => Uint8Array.of(i % 256));
  assert.deepEqual(
    (await gathered(pieces)).map(({ length }) => length),
    [MAX_BYTES, MAX_BYTES, MAX_BYTES, MAX_BYTES],
  );
});
