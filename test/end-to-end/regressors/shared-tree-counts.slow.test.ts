/** Candidates that differ in the number of trees alone share their fits, and give the bytes of a job in which each has its own. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MucastError } from "../../../src/contract/errors/errors.ts";
import type { EnginePool } from "../../../src/engine/pool/pool.ts";
import type { EngineTask } from "../../../src/engine/pool/protocol.ts";
import { runMlJob } from "../../../src/jobs/run-job.ts";
import type { OpenEngine } from "../../../src/jobs/shared/job.ts";
import { type BlobPair, removeFolders, runJob, withoutIdentity, writeMarket } from "../jobs/job-runs.ts";
import { openSharedEngine } from "../jobs/shared-engines.ts";
import { dirtyPanelMarket, lateListings, learningUntil } from "../markets/panel-market.ts";

/** Each with the argument for the number of trees, and arguments that make it quick. */
const MODELS = {
  lightgbm: ["n_estimators", { num_leaves: 4, min_child_samples: 5, subsample: 0.8, subsample_freq: 1 }],
  xgboost: ["n_estimators", { max_depth: 2, subsample: 0.8, colsample_bytree: 0.7 }],
  catboost: ["iterations", { depth: 2, learning_rate: 0.1 }],
  random_forest: ["n_estimators", { max_depth: 3, max_features: 2 }],
} as const;

let dirty: BlobPair;
before(async () => {
  dirty = await writeMarket(learningUntil("2021-06-04", lateListings(dirtyPanelMarket())));
});
after(removeFolders);

/** An engine with a fake in front of it that sees each task, and may answer it. */
function watched(onTask: (task: EngineTask) => Promise<never> | undefined): OpenEngine {
  return (need) => {
    const engine = openSharedEngine(need);
    const run: EnginePool["run"] = (task, options) => onTask(task) ?? engine.pool.run(task, options);
    const get = (pool: EnginePool, name: string | symbol) => {
      const member = name === "run" ? run : Reflect.get(pool, name, pool);
      return typeof member === "function" ? member.bind(pool) : member;
    };
    return { ...engine, pool: new Proxy(engine.pool, { get }) };
  };
}

interface Counts {
  fits: number;
  shared: number;
}

/** The output's text, and the number of fits that the engine made. @param fails whether every shared task fails. */
async function textOf(config: string, fails: boolean): Promise<{ text: string; counts: Counts }> {
  const counts = { fits: 0, shared: 0 };
  const engine = watched((task) => {
    if (task.task !== "fit_predict") return undefined;
    if (task.tree_counts !== undefined) {
      counts.shared += task.fits.length;
      if (fails) return Promise.reject(new MucastError("fit_failed", "a fake failure"));
    }
    counts.fits += task.fits.length;
    return undefined;
  });
  const { text } = await runJob(dirty, config, 2, runMlJob, engine);
  return { text: withoutIdentity(text), counts };
}

for (const [model, [count, params]] of Object.entries(MODELS)) {
  describe(model, () => {
    const own = { model, model_params: { ...params, [count]: 6 }, cv_test_size: 12, n_splits: 3 };
    const choice = {
      candidates: [
        { grid: { [count]: [14, 3, 9] } },
        { model: "ridge", scaler: "standard", model_params: { alpha: 100 } },
      ],
      warm_up: 2,
    };
    const settings = {
      "per ticker, with refits": { refit_every: 25 },
      pooled: { fit: "pooled", target: "relative", cross_section: true, refit_every: 30 },
    };
    for (const [name, further] of Object.entries(settings)) {
      test(name, async () => {
        const config = JSON.stringify({ "ML params": { ...own, ...further, choice } });
        const [fast, slow] = [await textOf(config, false), await textOf(config, true)];
        assert.equal(fast.text, slow.text);
        const isShared = model !== "random_forest" || name !== "pooled";
        assert.equal(fast.counts.shared > 0, isShared);
        // Of five candidates, four have their fits in common.
        if (isShared) assert.equal(slow.counts.fits, fast.counts.fits + 3 * fast.counts.shared);
      });
    }
  });
}
