import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import { SHRINKAGES } from "../contract/config/panel-settings.ts";
import { blockFactors } from "./block-factors.ts";
import { shrinkageFactors } from "./shrinkage.ts";

const random = seededRandom(8);
const TICKERS = ["A", "B", "C"].map((ticker, t) => {
  const y = Float64Array.from({ length: 90 }, () => random.normal());
  const p = y.map((value) => 0.5 * value + (t + 1) * random.normal());
  const days = Int32Array.from(y, (_, i) => 2 * i + t);
  // Row 70 has no label; the label of row 75 is published late.
  const labels = y.slice(60).map((value, i) => (i === 10 || i === 29 ? Number.NaN : value));
  const labelDays = days.slice(60).map((day, i) => (i === 15 ? day + 9 : day + 2));
  const levels = Float64Array.from(y, (_, i) => (i < 75 ? 0.1 : 0.3));
  return {
    heldOut: {
      ...{ ticker, days: days.slice(0, 60), predicted: p.slice(0, 60), realised: y.slice(0, 60) },
      levels: levels.slice(0, 60),
    },
    score: {
      ...{ days: days.slice(60), predicted: p.slice(60), labels, labelDays: labelDays.sort() },
      levels: levels.slice(60),
    },
  };
});
/** A ticker that joined late: 31 score rows, each label known two days later. */
const LATE = {
  heldOut: {
    ticker: "L",
    days: new Int32Array(),
    predicted: new Float64Array(),
    realised: new Float64Array(),
  },
  score: {
    days: Int32Array.from({ length: 31 }, (_, i) => 100 + i),
    predicted: Float64Array.from({ length: 31 }, () => random.normal()),
    labels: new Float64Array(31),
    labelDays: Int32Array.from({ length: 31 }, (_, i) => 102 + i),
  },
};
LATE.score.labels.set(LATE.score.predicted.map((value) => 0.9 * value));

test("own: a ticker without held-out rows has no factor until 30 labels are known", () => {
  const blocks = [undefined, 102, 130, 131].map((known) => ({ known }));
  const factors = blockFactors("own", [...TICKERS, LATE], blocks).map((of) => of.byTicker.get("L"));
  assert.deepEqual(factors.slice(0, 3), [0, 0, 0]);
  assert.ok(Math.abs(factors[3]! - 0.9) < 1e-9);
});

const BLOCKS = [{ known: undefined }, { known: 137 }, { known: 152 }, { known: 170 }];

for (const choice of SHRINKAGES) {
  test(`${choice}: a block's factors follow from all rows known at its first date, taken one by one`, () => {
    const factors = blockFactors(choice, TICKERS, BLOCKS);
    assert.equal(factors.length, BLOCKS.length);
    for (const [b, { known }] of BLOCKS.entries()) {
      const rows = TICKERS.map(({ heldOut, score }) => {
        const own = {
          days: [...heldOut.days],
          predicted: [...heldOut.predicted],
          realised: [...heldOut.realised],
          levels: [...heldOut.levels],
        };
        for (const [i, label] of score.labels.entries()) {
          if (Number.isNaN(label) || known === undefined || score.labelDays[i]! > known) continue;
          own.days.push(score.days[i]!);
          own.predicted.push(score.predicted[i]!);
          own.realised.push(label);
          own.levels.push(score.levels[i]!);
        }
        return {
          ticker: heldOut.ticker,
          days: Int32Array.from(own.days),
          predicted: Float64Array.from(own.predicted),
          realised: Float64Array.from(own.realised),
          levels: Float64Array.from(own.levels),
        };
      });
      assert.deepEqual(factors[b], shrinkageFactors(choice, rows), `block ${b}`);
    }
    if (choice !== "none") assert.notDeepEqual(factors[1], factors[3]);
  });
}
