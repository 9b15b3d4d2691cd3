import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import type { Verdict, VerdictState } from "../../contract/output/verdict.ts";
import type { Shrinkage } from "../../evaluate/shrinkage.ts";
import { constantWarning, verdictWarnings } from "./job-warnings.ts";

const CONSTANT = { value: 0.25, train_rows: 40 };

test("names the largest alpha that keeps a coefficient, without calling alpha the cause", () => {
  // With a much smaller alpha, the coefficients exist and the score rows have the same features.
  const { message } = constantWarning("AAA", { ...CONSTANT, largest_alpha: 0.001 });
  assert.equal(
    message,
    "AAA: the model predicts 0.25 for every score row. With an alpha below 0.001, at least one coefficient is not 0.",
  );
});

test("names min_child_samples with the number of training rows", () => {
  const warning = constantWarning("AAA", { ...CONSTANT, min_child_samples: 50 });
  assert.match(warning.message, /min_child_samples is 50 and there are 40 training rows/);
  assert.deepEqual([warning.code, warning.ticker], ["constant_predictions", "AAA"]);
});

/** The warning of a verdict in that state on those rows, if held-out rows give `pooled` that factor. */
function warned(
  state: VerdictState,
  { rows = "score" as Verdict["rows"], choice = "none" as ShrinkageChoice, factor = 0.256 } = {},
) {
  const by_date: Shrinkage = { n: 100, b: factor, se: 0.1, s: factor };
  const verdict: Verdict = { state, rows, title: "T", sentence: "T on the rows.", judged: [] };
  const shrinkage = { pooled: by_date, by_date, by_ticker: new Map() };
  return verdictWarnings({ verdict, shrinkage }, choice);
}

test("warns nothing of skill, and no_skill with the verdict's sentence of none, worse and too few dates", () => {
  assert.deepEqual(warned("skill"), []);
  for (const state of ["none", "worse", "too_few"] as const) {
    assert.deepEqual(warned(state), [{ code: "no_skill", message: "T on the rows." }]);
  }
});

test("names the factor and the setting that correct sizes that are too large", () => {
  const [warning] = warned("oversized");
  assert.equal(warning!.code, "oversized");
  assert.equal(
    warning!.message,
    "T on the rows. Set shrinkage to pooled: it multiplies every forecast by 0.26 and keeps their order.",
  );
});

test("advises to rank if the factor would remove every forecast or change none", () => {
  assert.match(
    warned("oversized", { factor: 0 })[0]!.message,
    /Rank by mu: .* would set every forecast to 0\.$/,
  );
  assert.match(warned("oversized", { factor: 1 })[0]!.message, /Rank by mu: .* would change nothing\.$/);
  assert.match(warned("oversized", { factor: 0.998 })[0]!.message, /multiplies every forecast by 0\.99 and/);
});

test("with shrinkage, held-out forecasts differ from published ones, and score rows show the remaining error", () => {
  assert.deepEqual(warned("oversized", { choice: "pooled", rows: "out_of_fold" }), []);
  const [score] = warned("oversized", { choice: "own" });
  assert.match(score!.message, /They are too large although shrinkage is own\.$/);
});
