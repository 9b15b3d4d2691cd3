/** What remains when a service, a job process or a worker is killed. Each test waits for processes and files, never for a time. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  type BlobPair,
  removeFolders,
  runJob,
  withoutIdentity,
  writeMarket,
} from "../../../test/end-to-end/jobs/job-runs.ts";
import { cleanMarket } from "../../../test/end-to-end/markets/market.ts";
import { IN_RELEASE_TIER } from "../../../test/whole-matrix.testing.ts";
import { runMlJob } from "../../jobs/run-job.ts";
import { openEngine } from "../../jobs/shared/job.ts";
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
  until,
  untilGone,
} from "./jobs.testing.ts";

const options = {
  concurrency: 2,
  timeout: 600_000,
  skip: process.platform !== "linux" && "looks into /proc",
};

let market: BlobPair;
before(async () => {
  const whole = cleanMarket("2021-10-29");
  market = await writeMarket({ ...whole, features: new Map([...whole.features].slice(0, 2)) });
});
after(removeFolders);

/** A job that fits until it is stopped; returns once it is fitting. */
async function startFitting(config = ENDLESS) {
  const sandbox = await newSandbox();
  const executor = executorIn(sandbox);
  const order = orderOf(market, config);
  const execution = await executor.start(order, new RecordingListener());
  const [worker] = await until(() => {
    const found = fittingIn(sandbox);
    return found.length > 0 ? found : undefined;
  });
  return { sandbox, order, execution, worker: worker! };
}

test("a job process that does not answer to a stop is killed and leaves no output", options, async () => {
  const { sandbox, execution } = await startFitting();
  for (const pid of processesOf(sandbox)) process.kill(pid, "SIGSTOP");
  execution.stop("canceled");
  const end = await execution.ended;
  assert.deepEqual(processesOf(sandbox), []);
  assert.ok(end.kind === "failed");
  assert.equal(end.problem.code, "canceled");
  assert.deepEqual(outputsOf(sandbox), []);
});

/** In `npm test` a service whose worker is killed stands for it: test/service/killed-jobs.testing.ts. */
test("a worker that is killed has its task run again with the same bytes", {
  ...options,
  ...IN_RELEASE_TIER,
}, async () => {
  const slow = `{"ML params": {"model": "catboost", "n_splits": 1, "model_params": {"iterations": 400}}}`;
  const { sandbox, execution, order, worker } = await startFitting(slow);
  process.kill(worker, "SIGKILL");
  const end = await execution.ended;
  assert.equal(end.kind, "succeeded", JSON.stringify(end));
  const text = readFileSync(join(sandbox.blobUrl, "data", `ml_engine_${order.id}.json`), "utf8");
  const undisturbed = await runJob(market, slow, 2, runMlJob, openEngine);
  assert.equal(withoutIdentity(text), withoutIdentity(undisturbed.text));
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
    const order = orderOf(market, ENDLESS);
    const service = startService(sandbox, order);
    await until(() => fittingIn(sandbox)[0]);
    service.kill("SIGKILL");
    await untilGone(sandbox);
    assert.deepEqual(outputsOf(sandbox), []);
  });

  test("while its job writes: the output is complete or absent", async () => {
    const sandbox = await newSandbox();
    const order = orderOf(market, QUICK);
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
  const order = orderOf(market, ENDLESS);
  const execution = await executor.start(order, new RecordingListener());
  const later = executorIn(sandbox);
  const adopted = later.adopt(order, execution.handle);
  process.kill(pidOf(execution), "SIGKILL");
  assert.equal(await adopted, undefined);
  await execution.ended;
  await Promise.all([executor.close(), later.close()]);
});
