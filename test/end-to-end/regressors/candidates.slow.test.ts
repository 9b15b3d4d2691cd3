/** `choice` in whole jobs: what it publishes, its warnings, workers, and that no later label changes an earlier choice. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { IN_RELEASE_TIER } from "../../whole-matrix.testing.ts";
import { type BlobPair, removeFolders, runJob, withoutIdentity, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import { dirtyPanelMarket, lateListings, learningUntil, panelMarket } from "../markets/panel-market.ts";

const OWN = { model: "ridge", model_params: { alpha: 10 }, scaler: "standard", cv_test_size: 6, n_splits: 6 };

const CANDIDATES = [
  { model: "lasso", grid: { alpha: [0.0001, 0.01] } },
  { model: "ridge", fit: "pooled", model_params: { alpha: 100 } },
  { target: "relative", cross_section: true },
];

function configOf(choice: object, own: object = {}): string {
  return JSON.stringify({ "ML params": { ...OWN, ...own, choice } });
}

let dirty: BlobPair;
let clean: BlobPair;

before(async () => {
  dirty = await writeMarket(learningUntil("2021-06-04", lateListings(dirtyPanelMarket())));
  clean = await writeMarket(panelMarket());
});
after(removeFolders);

function codesOf({ warnings }: OutputBlob): Set<string> {
  return new Set(warnings.map(({ code }) => code));
}

test("the forecasts are the means of the members, for each fold and for the score rows", async () => {
  const choice = { candidates: CANDIDATES, warm_up: 6 };
  const { output } = await runJob(clean, configOf(choice));
  assertValid("output-blob", output);
  const alone = await Promise.all(
    [{}, ...CANDIDATES.flatMap((candidate) => expanded(candidate))].map((candidate) =>
      runJob(clean, JSON.stringify({ "ML params": { ...OWN, n_splits: 12, ...candidate } })),
    ),
  );
  const { members, changes, candidates, honest, losses } = output.choice!;
  const gains = losses.gains!.filter((gain) => gain !== null);
  assert.equal(losses.gains!.length, losses.dates.length);
  assert.ok(Math.abs(gains.reduce((sum, gain) => sum + gain, 0) / gains.length - honest.gain!) < 1e-15);
  assert.equal(candidates.length, alone.length);
  const meansOf = (used: readonly number[], forecastOf: (one: OutputBlob) => number | undefined) => {
    const values = used.flatMap((c) => forecastOf(alone[c]!.output) ?? []);
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  };
  for (const [ticker, { folds, dates, predicted }] of Object.entries(output.cross_validation!)) {
    for (const [i, date] of dates.entries()) {
      const { test_start: start } = folds.find(({ test_end: end }) => date <= end)!;
      const used = changes.findLast((change) => change.date <= start)!.members;
      const expected = meansOf(used, (one) => {
        const own = one.cross_validation![ticker]!;
        return own.predicted[own.dates.indexOf(date)];
      });
      assert.ok(Math.abs(predicted[i]! - expected) < 1e-15, `${ticker} ${date}`);
    }
    const expected = meansOf(members, (one) => one.mu[ticker]);
    assert.ok(Math.abs(output.mu[ticker]! - expected) < 1e-15);
  }
});

/** A candidate with each value of its grid. */
function expanded({
  grid,
  ...candidate
}: {
  readonly grid?: { readonly alpha: readonly number[] };
}): object[] {
  return grid === undefined
    ? [candidate]
    : grid.alpha.map((alpha) => ({ ...candidate, model_params: { alpha } }));
}

test(
  "a job gives the same bytes with any number of workers, with refits and late tickers",
  IN_RELEASE_TIER,
  async () => {
    const config = configOf(
      { candidates: CANDIDATES, warm_up: 4 },
      { n_splits: 3, refit_every: 15, intervals: {} },
    );
    const [one, other] = [await runJob(dirty, config, 1), await runJob(dirty, config, 3)];
    assert.equal(withoutIdentity(one.text), withoutIdentity(other.text));
    assertValid("output-blob", one.output);
    assert.equal(one.output.choice!.candidates.length, 5);
  },
);

test("a candidate that fails on a ticker, a short warm-up and a choice that finds nothing have warnings", async () => {
  const named = {
    candidates: [
      { model: "lightgbm", scaler: "none", model_params: { monotone_constraints: [1, 0, 0, 0, 0, 0] } },
    ],
    warm_up: 40,
  };
  const { output } = await runJob(dirty, configOf(named));
  const codes = codesOf(output);
  for (const code of ["candidate_failed", "few_choice_rows", "choice_is_noise"])
    assert.ok(codes.has(code), `${code} in ${[...codes]}`);
  const { tickers } = output.choice!.candidates[1]!;
  assert.ok(tickers < output.choice!.candidates[0]!.tickers);
});
