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
  net_10bp: -10.8,
};
const later = (delay: number, more: Partial<DelayedOrder> = {}) => ({ ...ENTRY, delay, ...more });
const ORDERS = [ENTRY, later(1, { ic_mean: 0.0068, ic_t: 1.3, net_5bp: -5.62 }), later(2)];

test("the sentence is about the first close after the forecasts, on the rows of the verdict", () => {
  const sets = { score: ORDERS, out_of_fold: [ENTRY, later(1, { ic_mean: -0.0001, net_5bp: -0.01 })] };
  assert.equal(
    laterSentence(sets, "score"),
    "A close later: mean IC 0.007, t = 1.30; net of 5 bp a side, the top fifth minus the bottom fifth returns -5.6 bp a day.",
  );
  assert.match(
    laterSentence(sets, "out_of_fold")!,
    /^A close later: mean IC 0\.000, t = 4\.30; .* returns 0\.0 bp/,
  );
  assert.match(laterSentence(sets, "calibration")!, /^On the score rows, a close later: mean IC 0\.007/);
});

test("for labels that begin later, the sentence is about the close where they begin", () => {
  const score = [later(2), later(3), later(4)];
  const sentence = laterSentence({ score, out_of_fold: undefined }, "score")!;
  assert.match(sentence, /^Two closes later \(where the labels begin\): mean IC 0\.019, t = 4\.30; /);
});

test("with few tickers it has the order over time, and with few dates there is none", () => {
  const none = { ic_mean: null, ic_t: null, net_5bp: null };
  const score = [ENTRY, later(1, { ...none, order_mean: 0.031, order_t: 1.4 })];
  assert.equal(
    laterSentence({ score, out_of_fold: undefined }, "score"),
    "A close later: order over time 0.031, t = 1.40.",
  );
  assert.equal(
    laterSentence({ score: [ENTRY, later(1, { dates: 29 })], out_of_fold: undefined }, "score"),
    undefined,
  );
  assert.equal(laterSentence({ score: undefined, out_of_fold: undefined }, "score"), undefined);
});
