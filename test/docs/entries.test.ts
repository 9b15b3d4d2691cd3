/** The table of code blocks is complete, and their JSON valid; docs.release.test.ts runs the others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CHECKS } from "./checks.testing.ts";
import { placeOf } from "./code-blocks.testing.ts";
import { BLOCKS, blocksBy, entriesOf, printedBy } from "./entries.testing.ts";

test("every code block has one entry in the table, and every entry a block", () => {
  const runs = [...blocksBy("shell"), ...blocksBy("service")];
  const printed = new Set(runs.map(({ block }) => printedBy(block)));
  for (const block of BLOCKS.filter((block) => !printed.has(block))) {
    const found = entriesOf(block).length;
    assert.equal(found, 1, `${placeOf(block)} has ${found} entries in checks.testing.ts:\n${block.text}`);
  }
  for (const [page, begins] of CHECKS) {
    const found = BLOCKS.filter((block) => block.page === page && block.text.startsWith(begins));
    assert.equal(found.length, 1, `${page} has ${found.length} blocks that begin with ${begins}`);
  }
});

test("JSON is what its page says", () => {
  for (const { block, check } of blocksBy("json")) {
    assert.equal(block.language, "json", placeOf(block));
    assert.doesNotThrow(() => check.read(block.text), placeOf(block));
  }
});
