/** A job with `choice` whose engine loses processes ends as one without: no forecast comes from the candidates that are left. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { MucastError } from "../../../src/contract/errors/errors.ts";
import { runDlJob, runMlJob } from "../../../src/jobs/run-job.ts";
import { type BlobPair, type Job, removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { panelMarket } from "../markets/panel-market.ts";
import { engineThatCrashes } from "./crashing-engine.ts";

const RIDGE = { model: "ridge", scaler: "standard", cv_test_size: 6, n_splits: 3 };
const ML = configOf(RIDGE, { model: "lasso", model_params: { alpha: 0.001 } });
const POOLED = configOf(RIDGE, { model: "lasso", fit: "pooled" });
const LIGHTGBM = { model: "lightgbm", scaler: "none" };
const SHARED = configOf({ ...RIDGE, ...LIGHTGBM }, { grid: { n_estimators: [3, 5] } });
const NETWORKS = JSON.stringify({
  "NN params": {
    "Dot prediction": {
      "current option": "mlp",
      training_params: { epochs: 2 },
      choice: { candidates: [{ training_params: { learning_rate: 0.01 } }] },
    },
  },
});

function configOf(own: object, candidate: object): string {
  return JSON.stringify({ "ML params": { ...own, choice: { candidates: [candidate], warm_up: 2 } } });
}

let market: BlobPair;
let tickers: readonly string[];
before(async () => {
  const whole = panelMarket();
  tickers = [...whole.features.keys()].sort();
  market = await writeMarket(whole);
});
after(removeFolders);

function runCrashing(config: string, labels: readonly string[], job: Job = runMlJob) {
  return runJob(market, config, 1, job, engineThatCrashes(1, labels));
}

const CASES: readonly (readonly [what: string, config: string, job: Job])[] = [
  ["regressors", ML, runMlJob],
  ["regressors that share fits", SHARED, runMlJob],
  ["networks", NETWORKS, runDlJob],
];
for (const [what, config, job] of CASES) {
  test(`a ticker whose worker dies fails, and no candidate has failed: ${what}`, async () => {
    const [lost] = tickers as readonly [string];
    const { output } = await runCrashing(config, [lost], job);
    assert.deepEqual(
      output.failures.map(({ ticker, code }) => [ticker, code]),
      [[lost, "engine_crashed"]],
    );
    assert.ok(!(lost in output.mu));
    assert.ok(output.warnings.every(({ code }) => code !== "candidate_failed"));
  });
}

async function crashOf(config: string, labels: readonly string[]): Promise<MucastError> {
  const error = await runCrashing(config, labels).catch((reason: unknown) => reason);
  assert.ok(error instanceof MucastError, String(error));
  assert.equal(error.code, "engine_crashed");
  return error;
}

test("a job that loses a pooled fit ends, and names the candidate", async () => {
  const { message } = await crashOf(POOLED, ["pooled, fold 2"]);
  assert.match(message, /^candidate 1 \(lasso pooled\): pooled, fold 2: the worker died/);
});
