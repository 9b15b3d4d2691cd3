import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { removeFolders, runJob, withoutIdentity } from "../../../test/end-to-end/job-runs.ts";
import { runDlJob } from "../../jobs/dl/run-dl-job.ts";
import { runMlJob } from "../../jobs/ml/run-ml-job.ts";
import type { JobOrder } from "../executor.ts";
import {
  type Environment,
  outputOf,
  pidOf,
  processesOf,
  RIDGE,
  run,
  type Sandbox,
  TINY,
  until,
  withExecutor,
} from "./jobs.testing.ts";

after(removeFolders);

const options = {
  concurrency: 2,
  timeout: 600_000,
  skip: process.platform !== "linux" && "looks into /proc",
};

/** What a job leaves that runs in this process, with an engine of its own. */
async function freshBytes(sandbox: Sandbox, config: string, order: JobOrder): Promise<string> {
  const job = order.operation === "run_ml_job" ? runMlJob : runDlJob;
  const { text } = await runJob({ ...TINY }, config, 1, (request, context) =>
    job({ ...request, blobUrl: sandbox.blobUrl, id: `${order.id}-fresh` }, context),
  );
  return withoutIdentity(text);
}

describe("a job process that is ready before its job", options, () => {
  const classical = (model: string, scaler: string) =>
    `{"ML params": {"model": "${model}", "scaler": "${scaler}", "n_splits": 2, "cv_test_size": 3, "intervals": {"alpha": 0.3}}}`;
  const cases = [
    classical("ridge", "none"),
    classical("random_forest", "robust"),
    classical("lightgbm", "none"),
    classical("xgboost", "standard"),
    classical("catboost", "minmax"),
    `{"NN params": {"Dot prediction": {"current option": "mlp", "data_processing": {"lookback": 2}, "training_params": {"epochs": 2}}}}`,
  ];
  test("does one job after the other, and leaves the same bytes for each as one that begins with it", () =>
    withExecutor(
      async (executor, sandbox) => {
        await executor.ready();
        const [waiting] = processesOf(sandbox);
        const ridge = cases[0]!;
        const bad = RIDGE.replace('"ridge"', '"ridge", "model_params": {"alpha": -1}');
        // A network's job ends its process.
        const jobs = [];
        for (const config of [...cases.slice(0, 5), bad, ridge, cases[5]!])
          jobs.push({ config, ...(await run(executor, config)) });
        assert.deepEqual(
          jobs.map(({ end }) => end.kind),
          [...cases.slice(0, 5).map(() => "succeeded"), "failed", "succeeded", "succeeded"],
        );
        for (const { execution } of jobs) assert.equal(pidOf(execution), waiting);
        const fresh = new Map<string, string>();
        for (const { config, order, end } of jobs) {
          if (end.kind !== "succeeded") continue;
          if (!fresh.has(config)) fresh.set(config, await freshBytes(sandbox, config, order));
          assert.equal(withoutIdentity(outputOf(sandbox, order)), fresh.get(config), config);
        }
        for (const { execution } of jobs) execution.stop("canceled");
        assert.equal((await run(executor, RIDGE)).end.kind, "succeeded");
      },
      { warm: true },
    ));

  test("that has done its job ends where none is kept ready", () =>
    withExecutor(async (executor, sandbox) => {
      await run(executor, RIDGE);
      await until(() => (processesOf(sandbox).length === 0 ? true : undefined));
    }));

  test("is replaced when it is killed while it waits", () =>
    withExecutor(
      async (executor, sandbox) => {
        await executor.ready();
        const killed = processesOf(sandbox);
        for (const pid of killed) process.kill(pid, "SIGKILL");
        await until(() => processesOf(sandbox).find((pid) => !killed.includes(pid)));
        assert.equal((await run(executor, RIDGE)).end.kind, "succeeded");
      },
      { warm: true },
    ));

  test("is replaced when it stands still while it waits", () =>
    withExecutor(
      async (executor, sandbox) => {
        await executor.ready();
        const [stopped] = processesOf(sandbox);
        process.kill(stopped!, "SIGSTOP");
        const { end, execution } = await run(executor, RIDGE);
        assert.equal(end.kind, "succeeded");
        assert.notEqual(pidOf(execution), stopped);
      },
      // Far longer than one that is ready takes, far less than a new one may.
      { warm: true, accept: { ready: 2_000, starting: 300_000 } },
    ));

  test("whose engine was killed while it waited does the job with another one", () =>
    withExecutor(
      async (executor, sandbox) => {
        await executor.ready();
        const [job, host] = processesOf(sandbox);
        process.kill(host!, "SIGKILL");
        await until(() => (processesOf(sandbox).length === 1 ? true : undefined));
        const { end, execution } = await run(executor, RIDGE);
        assert.deepEqual([end.kind, pidOf(execution)], ["succeeded", job]);
      },
      { warm: true },
    ));

  test("is replaced where the environment has changed since it was started", async () => {
    const env: Environment = { ...process.env };
    await withExecutor(
      async (executor, sandbox) => {
        await executor.ready();
        const [waiting] = processesOf(sandbox);
        env.MUCAST_PYTHON = "/no/such/python";
        const { end, execution } = await run(executor, RIDGE);
        assert.ok(end.kind === "failed");
        assert.equal(end.problem.code, "engine_unavailable");
        assert.notEqual(pidOf(execution), waiting);
      },
      { warm: true, env },
    );
  });

  test("is ready also without an engine, which is the job's own error", () =>
    withExecutor(
      async (executor, sandbox) => {
        await executor.ready();
        assert.equal(processesOf(sandbox).length, 1);
        const { end } = await run(executor, RIDGE);
        assert.ok(end.kind === "failed");
        assert.equal(end.problem.code, "engine_unavailable");
        // The log tells where it was looked for.
        assert.doesNotMatch(JSON.stringify(end.problem), /such\/python/);
      },
      { warm: true, env: { ...process.env, MUCAST_PYTHON: "/no/such/python" } },
    ));
});
