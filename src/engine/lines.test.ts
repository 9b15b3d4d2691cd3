import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { onLines } from "./lines.ts";

/** The lines that `onLines` makes of these pieces, and how many it dropped. */
async function linesOf(pieces: Iterable<string> | AsyncIterable<string>, longest: number, drops = false) {
  const lines: string[] = [];
  let dropped = 0;
  const stream = Readable.from(pieces, { objectMode: false });
  onLines(stream, (line) => lines.push(line), { longest, ...(drops ? { onLonger: () => dropped++ } : {}) });
  await new Promise((resolve) => stream.once("end", resolve));
  return { lines, dropped };
}

test("passes complete lines on, however they are cut, and drops what follows the last line feed", async () => {
  const text = fc.string({ unit: fc.constantFrom("a", "é", "😀", "\n"), maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 8 }), async (pieces) => {
      const { lines } = await linesOf(pieces, 1_000);
      assert.deepEqual(lines, pieces.join("").split("\n").slice(0, -1));
    }),
  );
});

test("reads a line of 64 MiB in 65,536 pieces in one pass over its characters", {
  timeout: 600_000,
}, async () => {
  const piece = "x".repeat(1_024);
  const pieces = (async function* () {
    for (let i = 0; i < 65_536; i++) {
      // So that the time limit of this test can fire.
      if (i % 64 === 0) await setImmediate();
      yield piece;
    }
    yield "\nshort\n";
  })();
  const { lines } = await linesOf(pieces, 2 ** 27);
  assert.deepEqual(
    lines.map(({ length }) => length),
    [2 ** 26, 5],
  );
});

test("drops a longer line and reports it once, and passes on the lines around it", async () => {
  const outcome = await linesOf(["before\n", "x".repeat(30), "x".repeat(30), "x\nafter\n"], 32, true);
  assert.deepEqual(outcome, { lines: ["before", "after"], dropped: 1 });
  const short = await linesOf([`${"x".repeat(33)}\n`, `${"x".repeat(32)}\n`], 32, true);
  assert.deepEqual(short, { lines: ["x".repeat(32)], dropped: 1 });
});

test("passes a longer line on in pieces if there is no onLonger", async () => {
  const { lines } = await linesOf(["x".repeat(33), "y".repeat(40), "z\nlast\n"], 32);
  assert.deepEqual(lines, ["x".repeat(33), "y".repeat(40), "z", "last"]);
});
