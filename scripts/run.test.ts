/** What `npm run` has started ends with it: the documented ways to start a service, with the real npm, sh and timeout. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually, eventuallyTrue } from "../test/service/eventually.testing.ts";
import { processesAbout, type SeenProcess, stillRunning, treeOf } from "../test/service/processes.testing.ts";
import { endServices, serviceFolder } from "../test/service/service.testing.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const NO_PYTHON = "/no/such/python";

interface Started {
  readonly root: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** The lines of its log with that message. */
  said(message: string): Record<string, unknown>[];
  /** All that works on its folder, npm and shells among it. */
  readonly processes: readonly SeenProcess[];
  readonly runner: SeenProcess;
  readonly serve: SeenProcess;
}

/** Starts the documented command behind `words`, in a session of its own, and waits until the service listens. */
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
    // No job is run: the job process that waits for one need not import an engine's libraries.
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
  const processes = processesAbout(folder);
  const serve = processes.find(({ pid }) => pid === listening!.pid)!;
  const runner = processes.find(({ pid }) => pid === serve.parent)!;
  return { root, ended, said, processes, runner, serve };
}

/** Waits until all of it has ended, the service in order. */
async function endsInOrder({ processes, said }: Started): Promise<void> {
  await eventuallyTrue("all of it ends", () => stillRunning(processes).length === 0);
  assert.equal(said("draining").length, 1);
  assert.equal(said("ended").length, 1);
}

describe("a service that npm runs", { timeout: 600_000 }, () => {
  after(endServices);

  test("ends in order by SIGTERM to npm, which waits for it", async () => {
    const started = await start();
    started.root.kill("SIGTERM");
    await started.ended;
    assert.deepEqual(stillRunning([started.serve]), []);
    await endsInOrder(started);
  });

  test("ends in order with timeout, which signals the whole group", async () => {
    const started = await start("timeout", "3600");
    started.root.kill("SIGTERM");
    await started.ended;
    await endsInOrder(started);
  });

  test("ends in order where npm is killed", async () => {
    const started = await start();
    started.root.kill("SIGKILL");
    await started.ended;
    await endsInOrder(started);
  });

  test("outlives the shell that started it, and a terminal under nohup; not what runs it", async () => {
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

test("what a program has started ends with it, where it is asked to end", async (t) => {
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
