import assert from "node:assert/strict";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { writeOutput } from "../../blob/folder/output-folder.ts";
import { processMark } from "../../contract/machine/process-stat.ts";
import { inWorkFolder, openWorkFolder, sweepWorkFolders } from "./work-folder.ts";

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "mucast-test-"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const [MACHINE, PID, START] = processMark().split("-");

/** A folder with a file in it, as a process with that mark would leave it. */
function folderOf(mark: string): string {
  const left = join(base, `mucast-${mark}-abc`);
  mkdirSync(left, { mode: 0o700 });
  writeFileSync(join(left, "x0.npy"), "");
  return left;
}

test("keeps the folder of a process in another container until it is a week old", () => {
  const [held, old] = [folderOf(`00000000-${PID}-1`), folderOf(`00000000-${PID}-${START}`)];
  const eightDaysAgo = Date.now() / 1000 - 8 * 86_400;
  utimesSync(old, eightDaysAgo, eightDaysAgo);
  const living = openWorkFolder(base).path;
  utimesSync(living, eightDaysAgo, eightDaysAgo);
  openWorkFolder(base);
  assert.deepEqual([held, old, living].map(existsSync), [true, false, true]);
});

test("removes what killed processes left, even without another job", async () => {
  const [living, left] = [openWorkFolder(base), folderOf(`${MACHINE}-999999999-1`)];
  await sweepWorkFolders(base);
  assert.ok(!existsSync(left) && existsSync(living.path));
  await sweepWorkFolders(join(base, "none"));
});

test("another user's folder of any name is left alone, and stops no job", {
  skip: process.getuid?.() !== 0 && "only root may give a folder away",
}, () => {
  const [folder, link] = [
    folderOf(`${MACHINE}-999999999-1`),
    join(base, `mucast-${MACHINE}-999999998-1-abc`),
  ];
  chownSync(folder, 12345, 12345);
  symlinkSync("/", link);
  openWorkFolder(base).remove();
  assert.deepEqual(readdirSync(base).sort(), [basename(link), basename(folder)].sort());
});

test("an output that cannot be written into the folder is an error of the work folder; one elsewhere is not", async () => {
  const beside = mkdtempSync(join(tmpdir(), "mucast-test-"));
  const writeUnder = (folder: string) => {
    writeFileSync(join(folder, "file"), "");
    return writeOutput(join(folder, "file"), "x.json", "{}");
  };
  let used = "";
  const inside = inWorkFolder((path) => {
    used = path;
    return writeUnder(path);
  }, base);
  await assert.rejects(inside, {
    code: "output_failed",
    message: /^the work folder of the job cannot be written: .*; TMPDIR names another place$/,
    data: {},
  });
  const outside = inWorkFolder(() => writeUnder(beside), base);
  await assert.rejects(outside, ({ message }: Error) => message.startsWith(join(beside, "file", "x.json")));
  assert.ok(used !== "" && !existsSync(used));
  assert.equal(await inWorkFolder(async (path) => existsSync(path), base), true);
  rmSync(beside, { recursive: true });
});
