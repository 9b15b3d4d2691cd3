/** `choice` with `racing` in whole jobs: what it drops, and that nothing else changes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JobEvent } from "../../../src/contract/output/job-events.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { choiceFaults } from "../../../src/evaluate/choice/recorded-choice.ts";
import { IN_RELEASE_TIER } from "../../whole-matrix.testing.ts";
import { type BlobPair, removeFolders, runJob, withoutIdentity, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import { dirtyPanelMarket, lateListings, learningUntil, panelMarket } from "../markets/panel-market.ts";

/** Its trees have a leaf for every row, so that it forecasts much worse than a penalised line. */
const OVERFITTED = {
  model: "random_forest",
  scaler: "none",
  model_params: { n_estimators: 1, bootstrap: false },
  grid: { max_depth: [12, null] },
};

const CANDIDATES = [{ model: "lasso", model_params: { alpha: 0.0002 } }, OVERFITTED];

function configOf(choice: object, own: object = {}): string {
  return JSON.stringify({
    "ML params": {
      ...{ model: "ridge", model_params: { alpha: 100 }, scaler: "standard", cv_test_size: 8, n_splits: 6 },
      ...own,
      choice: { candidates: CANDIDATES, over: "all", warm_up: 10, ...choice },
    },
  });
}

let clean: BlobPair;
let dirty: BlobPair;

before(async () => {
  clean = await writeMarket(panelMarket());
  dirty = await writeMarket(learningUntil("2021-06-04", lateListings(dirtyPanelMarket())));
});
after(removeFolders);

function droppedOn({ choice }: OutputBlob): (string | undefined)[] {
  return choice!.candidates.map((candidate) => candidate.dropped_on);
}

function foldStarts({ cross_validation = {} }: OutputBlob): string[] {
  return Object.values(cross_validation).flatMap(({ folds }) => folds.map(({ test_start: start }) => start));
}

/** The number of fits at the end, and the number that was then planned. */
function fitsOf(events: readonly JobEvent[]): [done: number, total: number | undefined] {
  const fits = events.flatMap((event) =>
    event.kind === "progress" && event.stage === "fit" ? [[event.done, event.total] as const] : [],
  );
  return [...fits.at(-1)!];
}

test("a race drops candidates that are far behind and has the forecasts of the others", async () => {
  const { output: whole, events: allFits } = await runJob(clean, configOf({}));
  const { output, events } = await runJob(clean, configOf({ racing: true }));
  assertValid("output-blob", output);
  const dropped = droppedOn(output);
  assert.deepEqual(dropped.slice(0, 2), [undefined, undefined]);
  assert.ok(dropped.slice(2).every((date) => date !== undefined));
  assert.deepEqual(output.choice!.members, whole.choice!.members);
  assert.deepEqual(output.mu, whole.mu);
  assert.deepEqual(output.cross_validation, whole.cross_validation);
  assert.deepEqual(choiceFaults(output.choice!, foldStarts(output)), []);
  const [fits, total] = fitsOf(events);
  assert.equal(fits, total);
  assert.ok(fits < 0.8 * fitsOf(allFits)[0], `${fits} of ${fitsOf(allFits)[0]} fits`);
  const { dates, excess } = output.choice!.losses;
  for (const [c, date] of dropped.entries()) {
    const losses = excess[c]!.map((value, d) => [dates[d]!, value] as const);
    const later = losses.filter(([day]) => date !== undefined && day > date);
    assert.ok(
      later.every(([, value]) => value === null),
      `candidate ${c} has no forecast from ${date} on`,
    );
    const earlier = losses.slice(0, losses.length - later.length);
    const expected = whole.choice!.losses.excess[c]!.slice(0, earlier.length);
    assert.deepEqual(
      earlier.map(([, value]) => value),
      expected,
    );
  }
});

/** Fails on tickers with fewer or more features. */
const SIX_FEATURES = {
  ...{ model: "lightgbm", scaler: "none" },
  model_params: { n_estimators: 5, monotone_constraints: [1, 0, 0, 0, 0, 0] },
};

test("a race loses no ticker that the config itself cannot fit", async () => {
  const candidates = [{ model: "ridge", scaler: "standard" }, OVERFITTED];
  for (const own of [candidates, candidates.slice(1)]) {
    const [whole, race] = [
      await runJob(dirty, configOf({ candidates: own }, SIX_FEATURES)),
      await runJob(dirty, configOf({ candidates: own, racing: true }, SIX_FEATURES)),
    ];
    const { candidates: found } = race.output.choice!;
    assert.ok(found[0]!.tickers < found[1]!.tickers);
    assert.ok(droppedOn(race.output).some((date) => date !== undefined));
    assert.deepEqual(Object.keys(race.output.mu), Object.keys(whole.output.mu));
    assert.deepEqual(race.output.failures, whole.output.failures);
  }
});

test("without a ticker that the config itself can fit, a race drops none and has the same forecasts and warnings", async () => {
  const failing = { ...SIX_FEATURES, model_params: { monotone_constraints: [1] } };
  const candidates = [{ model: "lasso", model_params: { alpha: 1e-9, max_iter: 2 } }, OVERFITTED];
  const { output: whole } = await runJob(dirty, configOf({ candidates }, failing));
  const { output } = await runJob(dirty, configOf({ candidates, racing: true }, failing));
  assert.deepEqual(output.mu, whole.mu);
  assert.deepEqual(output.cross_validation, whole.cross_validation);
  const sorted = ({ warnings }: OutputBlob) => warnings.map((warning) => JSON.stringify(warning)).sort();
  assert.deepEqual(sorted(output), sorted(whole));
  assert.ok(output.warnings.some(({ code, ticker }) => code === "not_converged" && ticker !== undefined));
});

test(
  "a race gives the same bytes with any number of workers, with pooled fits, refits and late tickers",
  IN_RELEASE_TIER,
  async () => {
    const candidates = [...CANDIDATES, { ...OVERFITTED, fit: "pooled" }, { fit: "pooled" }];
    const config = configOf({ racing: true, candidates }, { refit_every: 15, intervals: {} });
    const [one, other] = [await runJob(dirty, config, 1), await runJob(dirty, config, 3)];
    assert.equal(withoutIdentity(one.text), withoutIdentity(other.text));
    assertValid("output-blob", one.output);
    assert.ok(droppedOn(one.output).some((date) => date !== undefined));
    assert.deepEqual(choiceFaults(one.output.choice!, foldStarts(one.output)), []);
  },
);
