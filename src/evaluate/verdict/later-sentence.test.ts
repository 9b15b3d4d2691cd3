import assert from "node:assert/strict";
import { test } from "node:test";
import type { DelayedOrder } from "../../contract/output/metrics-schemas.ts";
import { laterSentence } from "./later-sentence.ts";

const ENTRY: DelayedOrder = {
  delay: 0,
  dates: 1_081,
  ic_mean: 0.0194,
  ic_t: 4.3,
  rank_ic_mean: 0.02,
  rank_ic_t: 4,
  spread_mean: 10,
  spread_t: 3,
  turnover: 0.52,
  net_1bp: 7.9,
  net_5bp: -0.4,
  net_5bp_t: -0.1,
  net_10bp: -10.8,
};
const later = (delay: number, more: Partial<DelayedOrder> = {}) => ({ ...ENTRY, delay, ...more });
const ORDERS = [ENTRY, later(1, { ic_mean: 0.0068, ic_t: 1.3, net_5bp: -5.62, net_5bp_t: -2.3 }), later(2)];

test("the sentence is about the first close after the forecasts, on the rows of the verdict", () => {
  const sets = { score: ORDERS, out_of_fold: [ENTRY, later(1, { ic_mean: -0.0001, net_5bp: -0.01 })] };
  assert.equal(
    laterSentence(sets, "score"),
    "A close later: mean IC 0.007, 90% band -0.003 to 0.017; net of 5 bp a side, the top fifth minus the bottom fifth returned -5.6 bp a day, 90% band -10.2 to -1.1.",
  );
  assert.match(
    laterSentence(sets, "out_of_fold")!,
    /^A close later: mean IC 0\.000, 90% band .*; .* returned 0\.0 bp a day, 90% band/,
  );
  assert.match(laterSentence(sets, "calibration")!, /^A close later on the score rows: mean IC 0\.007/);
  assert.match(
    laterSentence({ ...sets, isOfModel: true }, "score")!,
    /minus the bottom fifth of the model's own forecasts returned/,
  );
});

test("with few tickers it has the order over time, and with few dates there is none", () => {
  const none = { ic_mean: null, ic_t: null, net_5bp: null, net_5bp_t: null };
  const score = [ENTRY, later(1, { ...none, order_mean: 0.031, order_t: 1.4 })];
  assert.equal(
    laterSentence({ score, out_of_fold: undefined }, "score"),
    "A close later: order over time 0.031 deviations, 90% band -0.005 to 0.067.",
  );
  assert.equal(
    laterSentence({ score: [ENTRY, later(1, { dates: 29 })], out_of_fold: undefined }, "score"),
    undefined,
  );
  assert.equal(laterSentence({ score: undefined, out_of_fold: undefined }, "score"), undefined);
});
