import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
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

test("a reader that takes nothing is waited for once, not for each line", async () => {
  const module = JSON.stringify(new URL("./line-writer.ts", import.meta.url).href);
  const program = `
    const { LineWriter } = await import(${module});
    let waits = 0;
    const { wait } = Atomics;
    Atomics.wait = (...given) => { waits++; return wait(...given); };
    process.stdout; // Makes the pipe one that does not block.
    const writer = new LineWriter(1);
    while (writer.lost < 5) writer.write("z".repeat(10_000) + "\\n");
    process.stderr.write(String(waits), () => process.exit());`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [waits] = await Promise.all([text(child.stderr), once(child, "exit")]);
  child.stdout.destroy();
  // The pipe's other end takes what fits into its buffer, once; each of the five would cost a hundred.
  assert.ok(Number(waits) >= 100 && Number(waits) < 300, waits);
});

test("a reader that has stopped halts nothing: lines beyond what its pipe holds are lost and counted", () => {
  const url = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
  const program = `
    const { LineWriter } = await import(${url("./line-writer.ts")});
    const { withoutWaiting } = await import(${url("./line-writer.ts")});
    const writer = new LineWriter(withoutWaiting(1));
    for (let i = 0; i < 200; i++) writer.write("y".repeat(1000) + "\\n");
    process.exit(writer.lost > 0 ? 7 : 8);`;
  // The pipe holds 64 KiB, and its reader reads nothing.
  const shell = `
    mkfifo pipe; sleep 60 <>pipe & holder=$!
    "$0" --input-type=module -e "$1" >pipe; echo $? >&2
    kill $holder`;
  const folder = mkdtempSync(join(tmpdir(), "mucast-lines-"));
  const options = { cwd: folder, encoding: "utf8", timeout: 30_000 } as const;
  const { stderr } = spawnSync("sh", ["-c", shell, process.execPath, program], options);
  rmSync(folder, { recursive: true, force: true });
  assert.equal(stderr, "7\n");
});
