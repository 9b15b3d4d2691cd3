import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputImportance } from "../../contract/output/metrics-schemas.ts";
import { importancesOf, lossPanels } from "./features.ts";

const IMPORTANCE: OutputImportance = {
  form: "cross_section",
  dates: 150,
  figure: 0.041,
  quantile: 1.73,
  groups: [
    { features: ["mom_5", "mom_10", "<b>"], loss: 0.0301, t: 3.5 },
    { features: ["size"], loss: 0.001, t: 0.4 },
    { features: ["season"], loss: 0, t: null },
  ],
};

const sentenceOf = (more: Partial<OutputImportance>) => lossPanels({ ...IMPORTANCE, ...more })[0]!.sentence;

test("the panel names what the order would lose without each group", () => {
  assert.equal(
    sentenceOf({}),
    "Without mom_5, mom_10 and 1 more, the mean RankIC falls from +0.041 to +0.011 (90\u202f% band of the loss +0.015 to +0.045). 1 of 3 groups of features has a band above 0, which a useless group has with a probability of 5\u202f%.",
  );
  const groups = IMPORTANCE.groups.map((group) => ({ ...group, loss: -0.001, t: -0.5 }));
  assert.equal(
    sentenceOf({ groups }),
    "None of 3 groups of features lowers the mean RankIC when it is shuffled.",
  );
  assert.match(
    sentenceOf({ dates: 20, quantile: null }),
    /is not judged: 20 out-of-fold dates, 30 needed\.$/,
  );
  assert.match(
    sentenceOf({ groups: IMPORTANCE.groups.slice(0, 1) }),
    /The only group of features has a band/,
  );
  assert.equal(sentenceOf({ groups: [] }), "The output names no features.");
  const hostile = { ...IMPORTANCE.groups[0]!, features: ["x".repeat(100_000), "\u202e<script>"] };
  assert.ok(sentenceOf({ groups: [hostile] }).length < 400);
  assert.deepEqual(lossPanels(undefined), []);
});

const TICKER = { fit_rows: 40, features: 2, label_mean: 0 };

test("importances of tickers are the mean of their shares, and those of a pooled fit its own", () => {
  const f = (importance: number) => ({ feature: "f", importance });
  const g = (importance: number) => ({ feature: "g", importance });
  const fits = {
    A: { ...TICKER, importances: [f(3), g(-1)] },
    B: { ...TICKER, importances: [f(10)] },
    C: TICKER,
  };
  assert.deepEqual(importancesOf({ fits }), {
    counted: 2,
    uses: [
      { feature: "f", share: 0.875, models: 2, spread: undefined },
      { feature: "g", share: 0.125, models: 1, spread: undefined },
    ],
  });
  const pooled = { ...TICKER, fold_rows: [], importances: [g(3), f(1)] };
  assert.deepEqual(
    importancesOf({ fits: { A: TICKER }, pooled }).uses.map(({ feature, share }) => [feature, share]),
    [
      ["g", 0.75],
      ["f", 0.25],
    ],
  );
});
