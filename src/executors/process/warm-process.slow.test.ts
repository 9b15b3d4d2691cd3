import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type Job, removeFolders, runJob, withoutIdentity } from "../../../test/end-to-end/jobs/job-runs.ts";
import { WHOLE_MATRIX } from "../../../test/whole-matrix.testing.ts";
import { runMlJob } from "../../jobs/run-job.ts";
import { openEngine } from "../../jobs/shared/job.ts";
import type { JobOrder } from "../executor.ts";
import {
  outputOf,
  pidOf,
  processesOf,
  QUICK,
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

/** The output of run_ml_job in this process with a new engine. */
async function freshBytes(sandbox: Sandbox, config: string, order: JobOrder): Promise<string> {
  const own: Job = (request, context) =>
    runMlJob({ ...request, blobUrl: sandbox.blobUrl, id: `${order.id}-fresh` }, context);
  const { text } = await runJob({ ...TINY }, config, 1, own, openEngine);
  return withoutIdentity(text);
}

describe("a job process that is ready before its job", options, () => {
  const classical = (model: string, scaler: string, params: string) =>
    `{"ML params": {"model": "${model}", "scaler": "${scaler}", "model_params": {${params}}, "n_splits": 2, "cv_test_size": 3, "intervals": {"alpha": 0.3}}}`;
  const forest = classical("random_forest", "robust", '"n_estimators": 10');
  const catboost = classical("catboost", "none", '"iterations": 10');
  // Each library is imported, without any other, by the job that starts with it.
  const all = [
    forest,
    classical("lightgbm", "minmax", '"n_estimators": 10'),
    classical("xgboost", "standard", '"n_estimators": 10'),
    catboost,
  ];
  const cases = WHOLE_MATRIX ? all : [catboost];
  // A network's job ends its process.
  const network = `{"NN params": {"Dot prediction": {"current option": "mlp", "data_processing": {"lookback": 2}, "training_params": {"epochs": 2}}}}`;

  test("does one job after the other, and writes the same bytes for each regressor as a process that starts with it", async () => {
    const left: { config: string; order: JobOrder; text: string; sandbox: Sandbox }[] = [];
    await withExecutor(
      async (executor, sandbox) => {
        const [waiting] = processesOf(sandbox);
        const bad = classical("catboost", "none", '"depth": 99');
        const asked = [...cases, bad, catboost, ...(WHOLE_MATRIX ? [network] : [])];
        const kinds: string[] = [];
        const stops: (() => void)[] = [];
        for (const config of asked) {
          for (const stopLate of stops) stopLate();
          const { order, execution, end } = await run(executor, config);
          stops.push(() => execution.stop("canceled"));
          kinds.push(end.kind);
          assert.equal(pidOf(execution), waiting);
          if (end.kind === "succeeded")
            left.push({ config, order, sandbox, text: withoutIdentity(outputOf(sandbox, order)) });
        }
        assert.deepEqual(
          kinds,
          asked.map((config) => (config === bad ? "failed" : "succeeded")),
        );
      },
      { warm: true },
    );
    const fresh = new Map<string, string>();
    // The network's job was the first of its own engine.
    for (const { config, order, text, sandbox } of left.filter(({ config }) => config !== network)) {
      if (!fresh.has(config)) fresh.set(config, await freshBytes(sandbox, config, order));
      assert.equal(text, fresh.get(config), config);
    }
  });

  test("is replaced if it was killed, and uses another engine if its own was killed", () =>
    withExecutor(
      async (executor, sandbox) => {
        const killed = await until(() => {
          const waiting = processesOf(sandbox);
          return waiting.length === 2 ? waiting : undefined;
        });
        for (const pid of killed) process.kill(pid, "SIGKILL");
        const second = await until(() => processesOf(sandbox).find((pid) => !killed.includes(pid)));
        const afterDeath = await run(executor, QUICK);
        assert.deepEqual([afterDeath.end.kind, pidOf(afterDeath.execution)], ["succeeded", second]);

        const engine = await until(() => {
          const others = processesOf(sandbox).filter((pid) => pid !== second);
          return others.length === 1 ? others[0] : undefined;
        });
        process.kill(engine, "SIGKILL");
        await until(() => (processesOf(sandbox).length === 1 ? true : undefined));
        const withoutEngine = await run(executor, QUICK);
        assert.deepEqual([withoutEngine.end.kind, pidOf(withoutEngine.execution)], ["succeeded", second]);
      },
      { warm: true },
    ));

  test("is ready even without an engine, whose lack is the job's error", () =>
    withExecutor(
      async (executor) => {
        const { end } = await run(executor, RIDGE);
        assert.ok(end.kind === "failed");
        assert.equal(end.problem.code, "engine_unavailable");
        // The log names the place that was searched.
        assert.doesNotMatch(JSON.stringify(end.problem), /such\/python/);
      },
      { warm: true, env: { ...process.env, MUCAST_PYTHON: "/no/such/python" } },
    ));
});
