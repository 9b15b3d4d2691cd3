import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { LineWriter } from "./line-writer.ts";

test("lines are written whole and in order", (t) => {
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

test("only the lines that a full disk refuses are lost, and they are counted", (t) => {
  const descriptor = openSync("/dev/full", "w");
  t.after(() => closeSync(descriptor));
  const writer = new LineWriter(descriptor);
  for (let i = 0; i < 3; i++) writer.write("a line\n");
  assert.equal(writer.lost, 3);
});

test("after a torn line the next line begins on a line of its own", (t) => {
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
  // sh counts blocks of 512 bytes.
  const shell = 'ulimit -f 4; exec "$0" --input-type=module -e "$1" 2>>log';
  const { stdout } = spawnSync("sh", ["-c", shell, process.execPath, program], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(stdout, "1\n");
  assert.equal(readFileSync(join(folder, "log"), "utf8"), `${"x".repeat(100)}\nafter\n`);
});

test("a reader that is gone loses its lines, and the service goes on", () => {
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

test("the writer waits once for a reader that takes nothing, not for each line", async () => {
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
  // The pipe's buffer takes some bytes once; each of the five lines would cost a hundred pauses.
  assert.ok(Number(waits) >= 100 && Number(waits) < 300, waits);
});

test("a stopped reader does not block the service: lines beyond the pipe's buffer are lost and counted", () => {
  const url = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
  const program = `
    const { LineWriter } = await import(${url("./line-writer.ts")});
    const { nonBlocking } = await import(${url("./line-writer.ts")});
    const writer = new LineWriter(nonBlocking(1));
    for (let i = 0; i < 200; i++) writer.write("y".repeat(1000) + "\\n");
    process.exit(writer.lost > 0 ? 7 : 8);`;
  // The pipe holds 64 KiB, and its reader reads nothing.
  const shell = `
    mkfifo pipe; sleep 60 <>pipe & holder=$!
    "$0" --input-type=module -e "$1" >pipe; echo $? >&2
    kill $holder`;
  const folder = mkdtempSync(join(tmpdir(), "mucast-lines-"));
  const options = { cwd: folder, encoding: "utf8", timeout: 600_000 } as const;
  const { stderr } = spawnSync("sh", ["-c", shell, process.execPath, program], options);
  rmSync(folder, { recursive: true, force: true });
  assert.equal(stderr, "7\n");
});
