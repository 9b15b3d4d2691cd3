import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openLogDestination } from "./log.ts";

const IMPORT = `const { openLogDestination } = await import(${JSON.stringify(import.meta.resolve("./log.ts"))});`;

test("lines are written at once, whole and in order", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-lines-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const descriptor = openSync(join(folder, "log"), "a");
  const destination = openLogDestination(descriptor);
  const long = `${"é".repeat(200_000)}\n`;
  for (const line of ["first\n", long, "last\n"]) destination.write(line);
  closeSync(descriptor);
  assert.equal(readFileSync(join(folder, "log"), "utf8"), `first\n${long}last\n`);
  assert.equal(destination.lost, 0);
});

test("lines that a full disk refuses wait in bounded memory; further ones are lost and counted", (t) => {
  const descriptor = openSync("/dev/full", "w");
  t.after(() => closeSync(descriptor));
  const destination = openLogDestination(descriptor);
  for (let i = 0; i < 2_000; i++) destination.write(`${"x".repeat(999)}\n`);
  assert.equal(destination.lost, 2_000 - Math.floor(2 ** 20 / 1_000));
});

test("the service continues without a reader that is gone", () => {
  const program = `${IMPORT}
    const destination = openLogDestination(1);
    for (let i = 0; i < 2_000; i++) destination.write("y".repeat(1000) + "\\n");
    process.exit(7);`;
  const shell = '("$0" --input-type=module -e "$1"; echo $? >&2) | true';
  const { stderr } = spawnSync("sh", ["-c", shell, process.execPath, program], { encoding: "utf8" });
  assert.equal(stderr, "7\n");
});

test("a stopped reader blocks nothing, and receives the lines once it reads again", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-lines-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  // The pipe holds 64 KiB. A line makes the destination try again.
  const program = `${IMPORT}
    const destination = openLogDestination(1);
    for (let i = 0; i < 200; i++) destination.write(i + "y".repeat(1000) + "\\n");
    (await import("node:fs")).writeFileSync("gate", "");
    setInterval(() => destination.write("next\\n"), 10);
    process.stdin.resume().on("end", () => process.exit());`;
  // The reader starts once all lines are written.
  const shell = 'mkfifo gate; "$0" --input-type=module -e "$1" | { cat gate; cat; }';
  const child = spawn("sh", ["-c", shell, process.execPath, program], { cwd: folder });
  let lines = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    lines += piece;
    if (lines.includes("199y")) child.stdin.end();
  });
  await once(child, "close");
  const numbers = [...lines.matchAll(/^(\d+)y{1000}$/gm)].map(([, number]) => Number(number));
  assert.deepEqual(numbers, [...Array(200).keys()]);
});
