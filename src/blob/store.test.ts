import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MucastError } from "../contract/errors/errors.ts";
import { type Content, splitBlocks } from "./store.ts";

async function blocks(content: Content, size: number, limit?: number): Promise<Buffer[]> {
  const all: Buffer[] = [];
  for await (const block of splitBlocks(content, { size, name: "x", limit })) all.push(Buffer.from(block));
  return all;
}

test("pieces of any size become blocks of one size, without losses or empty blocks", async () => {
  const piece = fc.oneof(fc.string(), fc.uint8Array({ maxLength: 40 }));
  await fc.assert(
    fc.asyncProperty(fc.array(piece), fc.integer({ min: 1, max: 16 }), async (pieces, size) => {
      const found = await blocks(pieces, size);
      const whole = Buffer.concat(pieces.map((each) => Buffer.from(each as string)));
      assert.ok(Buffer.concat(found).equals(whole));
      assert.ok(found.slice(0, -1).every(({ length }) => length === size));
      assert.ok(found.every(({ length }) => length > 0 && length <= size));
    }),
  );
});

test("one byte over the limit is too_large, and the limit itself is not", async () => {
  assert.equal((await blocks("12345", 2, 5)).length, 3);
  await assert.rejects(
    blocks(["123", "456"], 2, 5),
    (error) => error instanceof MucastError && error.code === "too_large" && error.data.limit === 5,
  );
});
