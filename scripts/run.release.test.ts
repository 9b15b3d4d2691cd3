/** Processes that `npm run` starts end with it: the documented ways to start a service, with the real npm, sh and timeout. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually, eventuallyTrue } from "../test/service/eventually.testing.ts";
import {
  type ProcessInfo,
  processesNaming,
  stillRunning,
  treeOf,
} from "../test/service/processes.testing.ts";
import { endServices, serviceFolder } from "../test/service/service.testing.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const NO_PYTHON = "/no/such/python";

interface Started {
  readonly root: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** The lines of its log with that message. */
  said(message: string): Record<string, unknown>[];
  /** All processes that work in its folder, including npm and shells. */
  readonly processes: readonly ProcessInfo[];
  readonly runner: ProcessInfo;
  readonly serve: ProcessInfo;
}

/** Starts the documented command after `words`, in a separate session, and waits until the service listens. */
async function start(...words: string[]): Promise<Started> {
  const folder = await serviceFolder();
  const npm = ["npm", "run", "--silent", "mucast", "--", "serve", "--port", "0"];
  const [command, ...args] = [...words, ...npm, "--data-dir", join(folder, "data")];
  const output = join(folder, "output");
  const descriptor = openSync(output, "w");
  mkdirSync(join(folder, "tmp"));
  const root = spawn(command!, args, {
    cwd: ROOT,
    detached: true,
    stdio: ["ignore", descriptor, descriptor],
    // No job runs, so the waiting job process need not import an engine's libraries.
    env: { ...process.env, TMPDIR: join(folder, "tmp"), MUCAST_DRAIN_SECONDS: "0", MUCAST_PYTHON: NO_PYTHON },
  });
  closeSync(descriptor);
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    root.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const said = (message: string) =>
    readFileSync(output, "utf8")
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === message);
  const [listening] = await eventually(`it listens, see ${output}`, () => {
    const lines = said("listening");
    return lines.length > 0 ? lines : undefined;
  });
  const processes = processesNaming(folder);
  const serve = processes.find(({ pid }) => pid === listening!.pid)!;
  const runner = processes.find(({ pid }) => pid === serve.parent)!;
  return { root, ended, said, processes, runner, serve };
}

/** Waits until all of them have ended, the service in an orderly way. */
async function endsInOrder({ processes, said }: Started): Promise<void> {
  await eventuallyTrue("all of it ends", () => stillRunning(processes).length === 0);
  assert.equal(said("draining").length, 1);
  assert.equal(said("ended").length, 1);
}

describe("a service that npm runs", { timeout: 600_000 }, () => {
  after(endServices);

  test("ends in an orderly way on SIGTERM to npm, which waits for it", async () => {
    const started = await start();
    started.root.kill("SIGTERM");
    await started.ended;
    assert.deepEqual(stillRunning([started.serve]), []);
    await endsInOrder(started);
  });

  test("ends in an orderly way with timeout, which signals the whole group", async () => {
    const started = await start("timeout", "3600");
    started.root.kill("SIGTERM");
    await started.ended;
    await endsInOrder(started);
  });

  test("ends in an orderly way if npm is killed", async () => {
    const started = await start();
    started.root.kill("SIGKILL");
    await started.ended;
    await endsInOrder(started);
  });

  test("outlives the shell that started it, and a terminal under nohup, but not npm", async () => {
    const started = await start("sh", "-c", '"$@" & sleep 0', "sh", "nohup");
    await started.ended;
    process.kill(-started.root.pid!, "SIGHUP");
    const npm = started.processes.filter(({ pid }) => pid === started.runner.parent);
    await eventuallyTrue("npm ends", () => stillRunning(npm).length === 0);
    const answer = await fetch(`${started.said("listening")[0]!.address}/healthz`);
    assert.equal(answer.status, 200);
    assert.equal(stillRunning([started.runner]).length, 1);
    process.kill(started.runner.pid, "SIGKILL");
    await endsInOrder(started);
  });
});

test("processes that a program started end with it if it is asked to end", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-run-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, "program.mjs");
  const script = `import { spawnSync } from "node:child_process"; console.log("begun"); spawnSync("sleep", ["600"]);`;
  writeFileSync(program, script);
  const runner = spawn(process.execPath, ["scripts/run.mjs", program], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(runner.stdout, "data");
  const tree = await eventually("it has started another", () => {
    const seen = treeOf(runner.pid!);
    return seen.some(({ command }) => command === "sleep 600") ? seen : undefined;
  });
  runner.kill("SIGTERM");
  await eventuallyTrue("all of it ends", () => stillRunning(tree).length === 0);
});

/** Prints each SIGINT and SIGTERM that it gets, and ends on SIGTERM. */
const SAYS_SIGNALS = `
  process.on("SIGINT", () => console.log("SIGINT"));
  process.on("SIGTERM", () => { console.log("SIGTERM"); process.exit(7); });
  setInterval(() => {}, 1000);
  console.log("begun");`;

/** Gives a program a terminal, in which Ctrl-C is pressed for each line of stdin. */
const IN_TERMINAL = `
import os, pty, sys
output = os.dup(1)
pid, terminal = pty.fork()
if pid == 0:
    os.dup2(output, 1)
    os.execv(sys.argv[1], sys.argv[1:])
print(pid, flush=True)
for _ in sys.stdin:
    os.write(terminal, b"\\x03")
os.waitpid(pid, 0)`;

describe("SIGINT", { timeout: 600_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-run-"));
  const program = join(folder, "program.mjs");
  writeFileSync(program, SAYS_SIGNALS);
  after(() => rmSync(folder, { recursive: true, force: true }));
  const command = [process.execPath, "scripts/run.mjs", program] as const;

  test("without a terminal, to the runner of a program, asks the program to end", async () => {
    const runner = spawn(command[0], command.slice(1), {
      cwd: ROOT,
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface(runner.stdout)[Symbol.asyncIterator]();
    assert.equal((await lines.next()).value, "begun");
    const exited = once(runner, "exit");
    runner.kill("SIGINT");
    assert.equal((await lines.next()).value, "SIGTERM");
    assert.deepEqual(await exited, [7, null]);
  });

  test("by Ctrl-C in a terminal reaches the program once", async () => {
    const terminal = spawn("python3", ["-c", IN_TERMINAL, ...command], {
      cwd: ROOT,
      stdio: ["pipe", "pipe", "inherit"],
    });
    const lines = createInterface(terminal.stdout)[Symbol.asyncIterator]();
    const runner = Number((await lines.next()).value);
    assert.equal((await lines.next()).value, "begun");
    terminal.stdin.write("\n");
    assert.equal((await lines.next()).value, "SIGINT");
    // The kernel delivers the SIGINT of the terminal before this, so a forwarded one would also come before.
    process.kill(runner, "SIGTERM");
    assert.equal((await lines.next()).value, "SIGTERM");
    terminal.stdin.end();
    assert.equal((await lines.next()).value, undefined);
  });
});
