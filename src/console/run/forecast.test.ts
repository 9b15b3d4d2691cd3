import assert from "node:assert/strict";
import { test } from "node:test";
import type { ForecastView } from "../../client/index.ts";
import { plainVerdict } from "./forecast.ts";

type Verdict = NonNullable<ForecastView["verdict"]>;

/** Only what a plain sentence depends on. */
function verdict(state: string, rows = "score", order = "none"): Verdict {
  return { state, rows, judged: [{ rows, order: { state: order } }] } as unknown as Verdict;
}

test("a verdict has a plain sentence for each state and kind of rows", () => {
  assert.equal(
    plainVerdict(verdict("none", "out_of_fold")),
    "on the out-of-fold rows: nothing shows that the forecasts are better than chance.",
  );
  assert.equal(
    plainVerdict(verdict("worse")),
    "on the score rows: a forecast of zero would have been better.",
  );
  assert.match(
    plainVerdict(verdict("worse", "validation", "worse"))!,
    /^on the validation rows: returns tend/,
  );
});

test("a state or rows of a later service have none", () => {
  for (const unknown of ["later", "constructor"]) {
    assert.equal(plainVerdict(verdict(unknown)), undefined);
    assert.equal(plainVerdict(verdict("none", unknown)), undefined);
  }
});
