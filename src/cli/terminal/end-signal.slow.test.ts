import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

const MODULE = JSON.stringify(new URL("./signals.ts", import.meta.url).href);

/** Says which signals tell it to end, and does not end by them; each is followed at once by another one. */
const LISTENING = `
  const { onEndSignal } = await import(${MODULE});
  onEndSignal((name) => {
    console.log(name);
    process.kill(process.pid, "SIGINT");
  });
  setInterval(() => {}, 1000);
  console.log(process.pid);`;
const COMMAND = [process.execPath, "--input-type=module", "-e", LISTENING];

/** Gives a program a terminal of its own for stdin and stderr, which is closed when this ends. */
const IN_TERMINAL = `
import os, pty, sys
output = os.dup(1)
pid, terminal = pty.fork()
if pid == 0:
    os.dup2(output, 1)
    os.execv(sys.argv[1], sys.argv[1:])
os.waitpid(pid, 0)`;

async function listening(command: readonly string[]) {
  const child = spawn(command[0]!, command.slice(1), { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async () => (await lines.next()).value;
  return { child, line, pid: Number(await line()) };
}

test("what comes at once is one wish; a signal that comes later ends the process", async () => {
  const { child, line } = await listening(COMMAND);
  const exited = once(child, "exit");
  // It has no terminal: nohup's, then.
  child.kill("SIGHUP");
  child.kill("SIGTERM");
  assert.equal(await line(), "SIGTERM");
  while (child.exitCode === null && child.signalCode === null) {
    child.kill("SIGTERM");
    await pause(50);
  }
  assert.deepEqual(await exited, [null, "SIGTERM"]);
  assert.equal(await line(), undefined, "it was told once");
});

test("a terminal that is closed tells it to end", async () => {
  const { child, line, pid } = await listening(["python3", "-c", IN_TERMINAL, ...COMMAND]);
  child.kill("SIGKILL");
  assert.equal(await line(), "SIGHUP");
  process.kill(pid, "SIGKILL");
  assert.equal(await line(), undefined);
});
