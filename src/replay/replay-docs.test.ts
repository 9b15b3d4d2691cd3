import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { REPLAY_REASONS } from "../contract/output/replay-blob.ts";

test("docs/audit.md has a row for each reason, with its verdict", () => {
  const rows = readFileSync("docs/audit.md", "utf8").matchAll(/^\| `(\w+)` \| (differs|cannot_replay) \|/gm);
  assert.deepEqual(
    [...rows].map(([, code, verdict]) => [code, verdict]),
    Object.entries(REPLAY_REASONS).map(([code, { verdict }]) => [code, verdict]),
  );
});
