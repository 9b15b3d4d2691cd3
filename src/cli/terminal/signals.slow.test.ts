import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

const MODULE = JSON.stringify(new URL("./signals.ts", import.meta.url).href);

/** Prints which signals ask it to end, and does not end; another signal follows each one at once. */
const LISTENING = `
  const { onEndSignal } = await import(${MODULE});
  onEndSignal((name) => {
    console.log(name);
    process.kill(process.pid, "SIGINT");
  });
  setInterval(() => {}, 1000);
  console.log(process.pid);`;
const COMMAND = [process.execPath, "--input-type=module", "-e", LISTENING];

/** Runs until a signal, and prints the code of its error. */
const RUNNING = `
  const { untilSignal } = await import(${MODULE});
  await untilSignal((signal) => new Promise((_, reject) => {
    console.log(process.pid);
    const timer = setInterval(() => {}, 1000);
    signal.addEventListener("abort", () => { clearInterval(timer); reject(signal.reason); });
  })).catch((error) => console.log(error.code));`;

/** Gives a program its own terminal for stdin and stderr, which is closed when this ends. */
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

test("signals that come together are one request; a later one ends the process", async () => {
  const { child, line } = await listening(COMMAND);
  const exited = once(child, "exit");
  // It has no terminal, as under nohup.
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

test("a closed terminal asks it to end", async () => {
  const { child, line, pid } = await listening(["python3", "-c", IN_TERMINAL, ...COMMAND]);
  child.kill("SIGKILL");
  assert.equal(await line(), "SIGHUP");
  process.kill(pid, "SIGKILL");
  assert.equal(await line(), undefined);
});

test("a signal aborts what runs until then with canceled", async () => {
  const { child, line } = await listening([process.execPath, "--input-type=module", "-e", RUNNING]);
  child.kill("SIGTERM");
  assert.equal(await line(), "canceled");
});
