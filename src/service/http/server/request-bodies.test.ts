import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { gatheredPieces, LoopTurns } from "./request-bodies.ts";

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

/** Turns that take long are fewer; on a busy machine any may. */
function stopClock(t: TestContext): void {
  t.mock.method(performance, "now", () => 1_000);
}

const laterTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("pieces of work start many turns of the event loop apart, and callers alternate", async (t) => {
  stopClock(t);
  const turns = new LoopTurns();
  const begun: string[] = [];
  for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) {
    void turns.next(name[0]!).then(() => begun.push(name));
  }
  assert.deepEqual(begun, []);
  const after: number[] = [];
  while (begun.length < 6) {
    await laterTurn();
    after.push(begun.length);
  }
  assert.deepEqual(begun, ["a1", "b1", "c1", "a2", "b2", "a3"]);
  assert.equal(after[0], 1);
  for (let done = 1; done < 6; done++) {
    const free = after.filter((count) => count === done).length;
    assert.ok(free >= 32, `${free} turns after piece ${done}`);
  }
});

test("a single piece of work starts in the next turn", async (t) => {
  stopClock(t);
  const turns = new LoopTurns();
  for (const caller of ["a", "a", "b"]) {
    let isBegun = false;
    void turns.next(caller).then(() => {
      isBegun = true;
    });
    await laterTurn();
    assert.ok(isBegun);
    for (let turn = 0; turn < 40; turn++) await laterTurn();
  }
});
