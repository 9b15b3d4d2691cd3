import assert from "node:assert/strict";
import { test } from "node:test";
import { rankedCandidates } from "./choice.ts";

test("the largest gain comes first, equal gains by number, and candidates without a gain last", () => {
  const ranked = rankedCandidates([0, null, 0.2, -0.1, 0.2, null].map((gain) => ({ gain })));
  assert.deepEqual(
    ranked.map(({ number }) => number),
    [2, 4, 0, 3, 1, 5],
  );
});
