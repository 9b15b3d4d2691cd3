import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { writeOutput } from "./output-folder.ts";
import { discardStaged, isGone, ownMark, stageFile } from "./staged-file.ts";

const root = mkdtempSync(join(tmpdir(), "mucast-sweep-"));
after(() => rmSync(root, { recursive: true }));

/** Stages a file, says so, and waits to be killed. */
const WRITER = `
import { stageFile } from ${JSON.stringify(new URL("./staged-file.ts", import.meta.url).href)};
await stageFile(process.argv[1], "o.json", "half");
console.log("staged");
setInterval(() => undefined, 1000);
`;

test("the next writer removes what a killed one left beside its target, and nothing of a living one", async () => {
  const folder = mkdtempSync(join(root, "f"));
  const args = ["--input-type=module", "-e", WRITER, "--", folder];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  assert.match(readdirSync(folder).join(), /^\.o\.json\.[0-9a-f]{8}-\d+-\d+-[0-9a-f]{12}\.tmp$/);
  child.kill("SIGKILL");
  await once(child, "exit");
  const ours = await stageFile(folder, "mine.json", "whole");
  assert.equal(readdirSync(folder).length, 1);
  await writeOutput(folder, "o.json", "{}");
  assert.equal(readdirSync(folder).length, 2);
  await discardStaged(ours);
  assert.deepEqual(readdirSync(folder), ["o.json"]);
});

test("another machine's file stays until a day after its last write", async () => {
  const folder = mkdtempSync(join(root, "f"));
  const [, ...rest] = ownMark().split("-");
  const staged = (name: string, machine: string) =>
    join(folder, `.${name}.${[machine, ...rest].join("-")}-0123456789ab.tmp`);
  for (const path of [staged("new", "00000000"), staged("old", "00000000"), join(folder, ".other.tmp")]) {
    writeFileSync(path, "");
  }
  const twoDaysAgo = Date.now() / 1000 - 2 * 86_400;
  utimesSync(staged("old", "00000000"), twoDaysAgo, twoDaysAgo);
  await writeOutput(folder, "o.json", "{}");
  assert.deepEqual(readdirSync(folder).sort(), [
    `.new.00000000-${rest.join("-")}-0123456789ab.tmp`,
    ".other.tmp",
    "o.json",
  ]);
});

test("a mark distinguishes a living process from one that ended, even if its pid was reused", () => {
  const [machine, pid, start] = ownMark().split("-");
  assert.equal(isGone(ownMark()), false);
  assert.equal(isGone(`${machine}-${pid}-${Number(start) - 1}`), true);
  assert.equal(isGone(`${machine}-999999999-${start}`), true);
  assert.equal(isGone(`00000000-999999999-${start}`), false);
});
