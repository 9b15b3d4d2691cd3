import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { readLines } from "./process-output.ts";

/** The lines that `readLines` makes of these pieces. */
async function linesOf(pieces: readonly string[], maxLength = 1_000): Promise<string[]> {
  const lines: string[] = [];
  const stream = Readable.from(pieces, { objectMode: false });
  readLines(stream, (line) => lines.push(line), maxLength);
  await new Promise((resolve) => stream.once("end", resolve));
  return lines;
}

test("passes complete lines on, however they are cut, and drops what follows the last line feed", async () => {
  const text = fc.string({ unit: fc.constantFrom("a", "é", "😀", "\n"), maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 8 }), async (pieces) => {
      assert.deepEqual(await linesOf(pieces), pieces.join("").split("\n").slice(0, -1));
    }),
  );
});

test("passes a longer line on in pieces, so that it is never whole in memory", async () => {
  const lines = await linesOf(["x".repeat(33), "y".repeat(40), "z\nlast\n"], 32);
  assert.deepEqual(lines, ["x".repeat(33), "y".repeat(40), "z", "last"]);
});
