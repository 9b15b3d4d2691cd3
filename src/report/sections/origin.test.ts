import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputSummary } from "../../outputs/output-summary.ts";
import { importancesOf } from "./origin.ts";

const TICKER = { fit_rows: 40, features: 2, label_mean: 0 };

function importances(parts: Pick<OutputSummary, "fits" | "pooled">) {
  const part = importancesOf(parts);
  assert.ok(part.data !== undefined);
  return part.data;
}

test("importances of tickers are the mean of their shares", () => {
  const { features, finding } = importances({
    fits: {
      A: {
        ...TICKER,
        importances: [
          { feature: "f", importance: 3 },
          { feature: "g", importance: -1 },
        ],
      },
      B: { ...TICKER, importances: [{ feature: "f", importance: 10 }] },
      C: TICKER,
    },
  });
  assert.deepEqual(features, [
    { feature: "f", share: 0.875, tickers: 2 },
    { feature: "g", share: 0.125, tickers: 1 },
  ]);
  assert.match(finding, /^The models used f most, with .*, the mean of 2 tickers\./);
});

test("importances of a pooled fit are its own", () => {
  const { features, finding } = importances({
    fits: { A: TICKER, B: TICKER },
    pooled: {
      ...TICKER,
      fold_rows: [],
      importances: [
        { feature: "g", importance: 3 },
        { feature: "f", importance: 1 },
      ],
    },
  });
  assert.deepEqual(
    features.map(({ feature, share }) => [feature, share]),
    [
      ["g", 0.75],
      ["f", 0.25],
    ],
  );
  assert.match(finding, /^The pooled model used g most/);
});
