import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseMlSettings } from "../../../contract/config/ml-settings.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { inlineArray, readArray } from "../../../engine/npy.ts";
import type { Diagnosis, FitPredictResult, FitPredictTask } from "../../../engine/pool/protocol.ts";
import type { TaskPool } from "../../plan.ts";
import { SharedFits } from "./shared-fits.ts";

const [TWENTY, RIDGE, TEN, THIRTY] = [
  { model: "lightgbm", model_params: { n_estimators: 20 } },
  { model: "ridge" },
  { model: "lightgbm", model_params: { n_estimators: 10 } },
  { model: "lightgbm", model_params: { n_estimators: 30 } },
].map((params) => parseMlSettings(JSON.stringify({ "ML params": params })).settings);
const SETTINGS = [TWENTY!, RIDGE!, TEN!, THIRTY!];

function taskOf(candidate: number): FitPredictTask {
  const { estimator, scaler } = SETTINGS[candidate]!;
  const array = { ref: "", dtype: "<f8", shape: [1], order: "C" } as const;
  return {
    ...{ task: "fit_predict", label: "AAPL", estimator, scaler, x: array, y: array },
    fits: [{ train: [0, 50], predict: [50, 52], diagnose: true }],
    predictions: { ref: "p.npy" },
  };
}

/** What a fit with that many trees predicts and reports. */
function expected(trees: number): { readonly predicted: number[]; readonly diagnoses: Diagnosis[] } {
  return { predicted: [trees, -trees], diagnoses: [{ importances: [[0, trees]] }] };
}

/** A fake of the engine, which records the numbers of trees that tasks ask for. */
function fakePool(fail: (task: FitPredictTask) => MucastError | undefined = () => undefined) {
  const asked: (readonly number[])[] = [];
  const pool = {
    run: async (task: FitPredictTask): Promise<FitPredictResult> => {
      const counts = task.tree_counts ?? [Number(JSON.stringify(task.estimator.params.n_estimators))];
      asked.push(counts);
      const error = fail(task);
      if (error) throw error;
      return {
        predictions: inlineArray(Float64Array.from(counts.flatMap((trees) => expected(trees).predicted))),
        diagnoses: counts.flatMap((trees) => expected(trees).diagnoses),
        seconds: [1],
        unconverged_fits: 0,
      };
    },
  } as unknown as TaskPool;
  return { asked, pools: SharedFits.poolsOf(pool, SETTINGS) };
}

async function runOf(pools: readonly TaskPool[], candidate: number) {
  const progress: number[] = [];
  const result = await pools[candidate]!.run(taskOf(candidate), {
    onProgress: ({ fit }) => progress.push(fit),
  });
  return { ...result, predicted: [...readArray(result.predictions)], progress };
}

describe("shared fits", () => {
  test("run once with the most trees, and each candidate gets its own", async () => {
    const { asked, pools } = fakePool();
    const runs = [];
    for (const candidate of [0, 2, 3]) runs.push(await runOf(pools, candidate));
    assert.deepEqual(asked, [[10, 20, 30]]);
    assert.deepEqual(
      runs.map(({ predicted, diagnoses }) => ({ predicted, diagnoses })),
      [20, 10, 30].map(expected),
    );
    assert.deepEqual(
      runs.slice(1).map(({ progress }) => progress),
      [[0], [0]],
    );
  });

  test("are those of the candidates that are left", async () => {
    const { asked, pools } = fakePool();
    await runOf(pools, 2);
    await runOf(pools, 3);
    assert.deepEqual(asked, [[10, 30]]);
  });

  for (const [code, data] of [
    ["fit_failed", {}],
    ["engine_crashed", { deaths: ["SIGKILL"] }],
  ] as const) {
    test(`that end with ${code} are run again by each candidate alone`, async () => {
      const { asked, pools } = fakePool((task) =>
        task.tree_counts === undefined ? undefined : new MucastError(code, "with 30 trees", data),
      );
      for (const [candidate, trees] of [
        [0, 20],
        [2, 10],
        [3, 30],
      ] as const) {
        assert.deepEqual((await runOf(pools, candidate)).predicted, expected(trees).predicted);
      }
      assert.deepEqual(asked, [[10, 20, 30], [20], [10], [30]]);
    });
  }

  for (const code of ["engine_crashed", "canceled", "out_of_memory"] as const) {
    test(`end the job with ${code} of the whole engine`, async () => {
      const error = new MucastError(code, "the engine is gone");
      const { asked, pools } = fakePool(() => error);
      await assert.rejects(runOf(pools, 0), error);
      assert.equal(asked.length, 1);
    });
  }
});
