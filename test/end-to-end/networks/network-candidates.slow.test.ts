/** `choice` of run_dl_job: forecasts are the means of the members, the calibration part is always set aside, and workers do not matter. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sampleDeviation } from "../../../src/evaluate/statistics.ts";
import { runDlJob } from "../../../src/jobs/run-job.ts";
import { type BlobPair, removeFolders, runJob, withoutIdentity, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import { panelMarket } from "../markets/panel-market.ts";

const OWN = {
  "current option": "mlp",
  training_params: { epochs: 2 },
  data_processing: { lookback: 3 },
  global_settings: { device: "cpu" },
  models_params: { mlp: { hidden_dims: [4] }, portfolio_lstm: { hidden_dims: [4] } },
};
const CANDIDATES = [
  { "current option": "portfolio_lstm" },
  { data_processing: { lookback: 5 }, target: "relative" },
];

const configOf = (prediction: object) => JSON.stringify({ "NN params": { "Dot prediction": prediction } });

let blobs: BlobPair;

before(async () => {
  blobs = await writeMarket(panelMarket());
});
after(removeFolders);

test("forecasts are the means of the members, which are networks as jobs of their own train them", async () => {
  const config = configOf({ ...OWN, choice: { candidates: CANDIDATES } });
  const { text, output } = await runJob(blobs, config, 3, runDlJob);
  assertValid("output-blob", output);
  const { members, candidates } = output.choice!;
  assert.equal(candidates.length, 3);
  const alone = await Promise.all(
    [{}, ...CANDIDATES].map(async (candidate) => {
      const own = {
        ...OWN,
        ...candidate,
        intervals: {},
      };
      return (await runJob(blobs, configOf(own), 3, runDlJob)).output;
    }),
  );
  for (const [ticker, mu] of Object.entries(output.mu)) {
    const own = members.map((c) => alone[c]!.mu[ticker]!);
    assert.ok(Math.abs(mu - own.reduce((sum, value) => sum + value, 0) / own.length) < 1e-15, ticker);
    if (own.length > 1)
      assert.ok(Math.abs(output.mu_spread![ticker]! - sampleDeviation(Float64Array.from(own))) < 1e-15);
    assert.deepEqual(output.fits![ticker]!.splits, alone[0]!.fits![ticker]!.splits);
  }
  assert.equal(output.metrics.intervals, null);
  assert.equal(output.verdict!.rows, "calibration");
  const again = await runJob(blobs, config, 1, runDlJob);
  assert.equal(withoutIdentity(again.text), withoutIdentity(text));
});
