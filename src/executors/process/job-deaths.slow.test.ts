/** What remains when a service, a job process or a worker is killed. Each test waits for processes and files, never for a time. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { removeFolders } from "../../../test/end-to-end/jobs/job-runs.ts";
import type { JobOrder } from "../executor.ts";
import { RecordingListener } from "../executor-suite.testing.ts";
import {
  ENDLESS,
  executorIn,
  fittingIn,
  newSandbox,
  orderOf,
  outputsOf,
  pidOf,
  processesOf,
  QUICK,
  type Sandbox,
  TINY,
  until,
  untilGone,
} from "./jobs.testing.ts";

const options = {
  concurrency: 2,
  timeout: 600_000,
  skip: process.platform !== "linux" && "looks into /proc",
};

after(removeFolders);

test("a job process that does not answer to a stop is killed and leaves no output", options, async () => {
  const sandbox = await newSandbox();
  const execution = await executorIn(sandbox).start(orderOf(TINY, ENDLESS), new RecordingListener());
  await until(() => fittingIn(sandbox)[0]);
  for (const pid of processesOf(sandbox)) process.kill(pid, "SIGSTOP");
  execution.stop("canceled");
  const end = await execution.ended;
  assert.equal(end.kind === "failed" && end.problem.code, "canceled");
  assert.deepEqual([processesOf(sandbox), outputsOf(sandbox)], [[], []]);
});

/** A separate service with one job, to be killed. */
function startService(sandbox: Sandbox, order: JobOrder | undefined, { warm = false } = {}): ChildProcess {
  const program = fileURLToPath(new URL("./service.testing.ts", import.meta.url));
  return spawn(process.execPath, [program, JSON.stringify({ sandbox, order, warm })], {
    stdio: ["ignore", "ignore", "inherit"],
  });
}

describe("a service that is killed leaves no process and no partial output", options, () => {
  test("while its job fits", async () => {
    const sandbox = await newSandbox();
    const order = orderOf(TINY, ENDLESS);
    const service = startService(sandbox, order);
    await until(() => fittingIn(sandbox)[0]);
    service.kill("SIGKILL");
    await untilGone(sandbox);
    assert.deepEqual(outputsOf(sandbox), []);
  });

  test("while its job writes: the output is complete or absent", async () => {
    const sandbox = await newSandbox();
    const order = orderOf(TINY, QUICK);
    const watcher = watch(join(sandbox.blobUrl, "data"));
    const service = startService(sandbox, order);
    await once(watcher, "change");
    service.kill("SIGKILL");
    watcher.close();
    await untilGone(sandbox);
    const output = join(sandbox.blobUrl, "data", `ml_engine_${order.id}.json`);
    if (existsSync(output)) JSON.parse(readFileSync(output, "utf8"));
  });

  test("while a job process waits", async () => {
    const sandbox = await newSandbox();
    const service = startService(sandbox, undefined, { warm: true });
    await until(() => (processesOf(sandbox).length === 2 ? true : undefined));
    service.kill("SIGKILL");
    await untilGone(sandbox);
  });
});

test("nothing of an earlier service's job runs once a later service does not adopt it", options, async () => {
  const sandbox = await newSandbox();
  const executor = executorIn(sandbox);
  const order = orderOf(TINY, ENDLESS);
  const execution = await executor.start(order, new RecordingListener());
  const later = executorIn(sandbox);
  const adopted = later.adopt(order, execution.handle);
  process.kill(pidOf(execution), "SIGKILL");
  assert.equal(await adopted, undefined);
  await execution.ended;
  await Promise.all([executor.close(), later.close()]);
});
