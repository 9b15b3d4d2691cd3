import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { writeOutput } from "./output-folder.ts";

const root = mkdtempSync(join(tmpdir(), "mucast-sweep-"));
after(() => rmSync(root, { recursive: true }));

test("the first write of a process removes staged files that are older than a day, and nothing else", async () => {
  const folder = mkdtempSync(join(root, "f"));
  const kept = [".new.json.0123456789ab.tmp", ".other.tmp", "old.json"];
  const removed = [".old.json.0123456789ab.tmp", ".old.json.00000000-1-2-0123456789ab.tmp"];
  for (const name of [...kept, ...removed]) writeFileSync(join(folder, name), "");
  const twoDaysAgo = Date.now() / 1000 - 2 * 86_400;
  for (const name of [".other.tmp", "old.json", ...removed]) {
    utimesSync(join(folder, name), twoDaysAgo, twoDaysAgo);
  }
  await writeOutput(folder, "z.json", "{}");
  assert.deepEqual(readdirSync(folder).sort(), [...kept, "z.json"]);
});
