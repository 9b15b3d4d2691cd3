/** A few made-up model_params in every run of the release tier; `npm run fuzz -- model-params` has thousands. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { rawNumbers } from "../../src/contract/json/json-text.ts";
import { findModel } from "../../src/contract/model-params/models.ts";
import { type Estimator, resolveModelParams } from "../../src/contract/model-params/resolve.ts";
import { fuzzJobs } from "./fuzz-jobs.ts";
import { caseOf } from "./model-params-cases.ts";
import { STRUCTURAL_PAIRS } from "./structural-parameters.ts";
import { WatchedEngine, type WorkEffects } from "./watched-engine.ts";

const linux = { skip: process.platform !== "linux" && "looks into /proc", timeout: 600_000 };
const SEED = 20_211_104;

test("a seed and a number always give the same case, and another seed gives another case", () => {
  const configs = (seed: number) => Array.from({ length: 50 }, (_, number) => caseOf(seed, number).config);
  assert.deepEqual(configs(1), configs(1));
  assert.equal(new Set([...configs(1), ...configs(2)]).size, 100);
});

test("twice as many cases as there are pairs of structural parameters include every pair, in an order that depends on the seed", () => {
  const order = (seed: number) =>
    STRUCTURAL_PAIRS.map((_, turn) => {
      const { config } = caseOf(seed, 2 * turn + 1);
      const [, model, params] = /"model": "(\w+)".*"model_params": \{(.*)\}\}\}$/.exec(config)!;
      return `${model} ${params!.replace(/, "(?:n_estimators|iterations)": 3$/, "")}`;
    });
  const all = STRUCTURAL_PAIRS.map(({ model, texts }) => `${model} ${texts.join(", ")}`);
  assert.deepEqual(order(1).toSorted(), all.toSorted());
  assert.notDeepEqual(order(1), order(2));
});

test("every structural parameter belongs to its model, and no rule refuses its values by themselves", () => {
  for (const { model, texts } of STRUCTURAL_PAIRS) {
    for (const text of texts) {
      const rawParams = rawNumbers(`{${text}}`);
      assert.doesNotThrow(() => resolveModelParams({ model: findModel(model), rawParams }), text);
    }
  }
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

describe("forbidden effects of arguments would be detected", linux, () => {
  const engine = new WatchedEngine();
  after(() => engine.close());

  /** A fit that no rule has checked. */
  const unchecked = (library: string, className: string, params: object): Promise<WorkEffects> =>
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

  test("a socket, even one that is closed again", async (context) => {
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
