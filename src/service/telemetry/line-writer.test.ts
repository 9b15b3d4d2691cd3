import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { LineWriter } from "./line-writer.ts";

test("lines are written whole, in their order", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-lines-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const descriptor = openSync(join(folder, "log"), "a");
  const writer = new LineWriter(descriptor);
  const long = `${"é".repeat(200_000)}\n`;
  for (const line of ["first\n", long, "last\n"]) writer.write(line);
  closeSync(descriptor);
  assert.equal(readFileSync(join(folder, "log"), "utf8"), `first\n${long}last\n`);
  assert.equal(writer.lost, 0);
});

test("lines that a full disk does not take are counted, and lost alone", (t) => {
  const descriptor = openSync("/dev/full", "w");
  t.after(() => closeSync(descriptor));
  const writer = new LineWriter(descriptor);
  for (let i = 0; i < 3; i++) writer.write("a line\n");
  assert.equal(writer.lost, 3);
});

test("a file that may not grow any more: what follows a torn line stands on a line of its own", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-lines-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const module = JSON.stringify(new URL("./line-writer.ts", import.meta.url).href);
  const program = `
    const { truncateSync } = await import("node:fs");
    const { LineWriter } = await import(${module});
    const writer = new LineWriter(2);
    writer.write("x".repeat(3000) + "\\n");
    truncateSync("log", 100);
    writer.write("after\\n");
    console.log(writer.lost);`;
  // Blocks of 512 bytes in sh.
  const shell = 'ulimit -f 4; exec "$0" --input-type=module -e "$1" 2>>log';
  const { stdout } = spawnSync("sh", ["-c", shell, process.execPath, program], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(stdout, "1\n");
  assert.equal(readFileSync(join(folder, "log"), "utf8"), `${"x".repeat(100)}\nafter\n`);
});

test("a reader that is gone costs its lines and nothing else", () => {
  const module = JSON.stringify(new URL("./line-writer.ts", import.meta.url).href);
  const program = `
    const { LineWriter } = await import(${module});
    const writer = new LineWriter(1);
    while (writer.lost < 2) writer.write("y".repeat(1000) + "\\n");
    process.exit(7);`;
  const shell = '("$0" --input-type=module -e "$1"; echo $? >&2) | true';
  const { stderr } = spawnSync("sh", ["-c", shell, process.execPath, program], { encoding: "utf8" });
  assert.equal(stderr, "7\n");
});
