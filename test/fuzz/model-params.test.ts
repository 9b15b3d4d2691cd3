/** A few made-up model_params in every run of the tests; `npm run fuzz -- model-params` has thousands. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Estimator } from "../../src/contract/model-params/resolve.ts";
import { fuzzJobs } from "./fuzz-jobs.ts";
import { caseOf } from "./model-params-cases.ts";
import { type Watched, WatchedEngine } from "./watched-engine.ts";

const linux = { skip: process.platform !== "linux" && "looks into /proc", timeout: 600_000 };
const SEED = 20_211_104;

test("the case of a seed and a number is always the same, and another for another seed", () => {
  const configs = (seed: number) => Array.from({ length: 50 }, (_, number) => caseOf(seed, number).config);
  assert.deepEqual(configs(1), configs(1));
  assert.equal(new Set([...configs(1), ...configs(2)]).size, 100);
});

test(
  "no made-up argument kills a worker, takes too long, leaves a file or opens a socket",
  linux,
  async () => {
    const { findings, outcomes } = await fuzzJobs(SEED, Array(60).keys(), 1);
    assert.deepEqual(findings, []);
    assert.ok(outcomes.get("succeeded")! > 5 && outcomes.get("invalid_model_params")! > 5);
  },
);

describe("what arguments may never do would be seen", linux, () => {
  const engine = new WatchedEngine();
  after(() => engine.close());

  /** A fit that no rule has checked. */
  const unchecked = (library: string, className: string, params: object): Promise<Watched> =>
    engine.watch(async (signal) => {
      const estimator = { library, class: className, params } as Estimator;
      await engine.pool.run({ task: "trial", estimator, scaler: "none", columns: 3 }, { signal });
      return "succeeded";
    });

  test("a worker's death", async () => {
    const { findings } = await unchecked("lightgbm", "LGBMRegressor", {
      interaction_constraints: [[0, 1], [500_000_000]],
      verbose: -1,
    });
    assert.match(findings.join(), /worker died at its task: it was ended by SIG/);
  });

  test("a file", async () => {
    const { outcome, findings } = await unchecked("catboost", "CatBoostRegressor", {
      output_borders: join(engine.folder, "tmp", "written.txt"),
      allow_writing_files: false,
      verbose: false,
    });
    assert.equal(outcome, "succeeded");
    assert.deepEqual(findings, ["it left files: tmp/written.txt"]);
  });

  test("a socket, also one that is closed again", async (context) => {
    if (!engine.seesSockets) return context.skip("the kernel has no seccomp here");
    const { findings } = await unchecked("lightgbm", "LGBMRegressor", {
      machines: "127.0.0.1:1,127.0.0.1:2",
      num_machines: 2,
      time_out: 1,
      verbose: -1,
    });
    assert.match(findings.join(), /SIGSYS/);
  });
});
