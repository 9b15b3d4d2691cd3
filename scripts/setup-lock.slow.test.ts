import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startUnreaped } from "../test/unreaped.testing.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-setup-lock-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const MODULE = new URL("./setup-lock.mjs", import.meta.url).href;

/** A program that takes the lock, prints so, and holds it until its stdin ends. */
function holding(file: string): string[] {
  const script = `
    process.on("SIGTERM", () => { console.log("asked to end"); process.exit(); });
    const { readSync } = await import("node:fs");
    const { withLock } = await import(${JSON.stringify(MODULE)});
    await withLock(${JSON.stringify(file)}, console.log, () => {
      console.log("held");
      try { readSync(0, Buffer.alloc(1)); } catch {}
    });`;
  return [process.execPath, "--input-type=module", "-e", script];
}

/** The output of a program that takes the lock if it can. */
async function take(file: string): Promise<string> {
  const [command, ...args] = holding(file);
  const child = spawn(command!, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [said] = await Promise.all([text(child.stdout), once(child, "close")]);
  return said;
}

async function text(stream: AsyncIterable<Buffer>): Promise<string> {
  let all = "";
  for await (const block of stream) all += block;
  return all;
}

test("takes over the lock of a killed set-up that stays a zombie", async (t) => {
  const file = join(folder, "zombie");
  const holder = await startUnreaped(t, holding(file));
  assert.equal((await holder.lines.next()).value, "held");
  assert.match(readFileSync(file, "utf8"), new RegExp(`^${holder.pid} `));
  await holder.kill();
  assert.match(await take(file), /^held$/m);
  assert.ok(!existsSync(file));
});

test("takes over a lock whose pid now belongs to another process", async () => {
  const file = join(folder, "again");
  writeFileSync(file, `${process.pid} 1`);
  assert.match(await take(file), /^held$/m);
});

test("waits for a living holder", async () => {
  const file = join(folder, "waiting");
  const [command, ...args] = holding(file);
  const holder = spawn(command!, args, { stdio: ["pipe", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  const second = spawn(command!, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [told] = await once(second.stdout, "data");
  assert.equal(String(told), `setup: waiting for the set-up of process ${holder.pid}, which holds ${file}\n`);
  holder.stdin.end();
  assert.equal(await text(second.stdout), "held\n");
});

test("a process that waits for a holder still reacts to a request to end", async (t) => {
  const file = join(folder, "asked");
  const [command, ...args] = holding(file);
  const holder = spawn(command!, args, { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => holder.stdin.end());
  await once(holder.stdout, "data");
  const second = spawn(command!, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(second.stdout, "data");
  second.kill("SIGTERM");
  assert.equal(await text(second.stdout), "asked to end\n");
});
