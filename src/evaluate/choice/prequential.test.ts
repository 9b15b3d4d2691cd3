import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestedTicker } from "./candidate-losses.ts";
import { noise, testedTickers } from "./choice.testing.ts";
import { type ChoiceSettings, choosePrequentially } from "./prequential.ts";

const ROWS = 200;
const SQUARED = { measure: "squared_error" } as const;
const SETTINGS: readonly ChoiceSettings[] = (["mean", "best"] as const).flatMap((rule) => [
  { rule, ...SQUARED },
  { rule, measure: "ic" },
]);

/** The same tickers with other labels from a label date on. */
function withOtherLabels(tickers: readonly TestedTicker[], from: number): TestedTicker[] {
  const next = noise(99);
  return tickers.map((ticker) => ({
    ...ticker,
    realised: ticker.realised.map((y, i) => (ticker.labelDays[i]! < from ? y : 3 * next())),
  }));
}

for (const settings of SETTINGS) {
  test(`no forecast depends on a label known after its fold begins: ${Object.values(settings).join(", ")}`, () => {
    const tickers = testedTickers(6, ROWS, [0.02, 0.05, -0.05, 0.1]);
    const whole = choosePrequentially(tickers, 4, settings);
    for (const from of [110, 140, 171, 205, 290]) {
      const changed = choosePrequentially(withOtherLabels(tickers, from), 4, settings);
      let compared = 0;
      for (const [i, { folds }] of tickers.entries()) {
        for (const fold of folds.filter(({ first }) => first < from)) {
          const rows = [fold.from, fold.to] as const;
          assert.deepEqual(changed.predicted[i]!.subarray(...rows), whole.predicted[i]!.subarray(...rows));
          compared++;
        }
      }
      assert.ok(compared > 0);
      for (const { day, members } of whole.changes.filter(({ day: at }) => at < from)) {
        assert.deepEqual(changed.changes.find((change) => change.day === day)?.members, members);
      }
    }
  });
}

test("the forecasts of a fold are the mean of the members at its first date", () => {
  const tickers = testedTickers(3, ROWS, [0, 0.3, 0.29]);
  const { changes, predicted } = choosePrequentially(tickers, 3, { rule: "mean", ...SQUARED });
  assert.deepEqual(changes[0], { day: 100, members: [0] });
  assert.ok(changes.some(({ members }) => members.length === 2));
  for (const [i, { folds, predicted: own }] of tickers.entries()) {
    for (const { from, to, first } of folds) {
      const used = changes.findLast(({ day }) => day <= first)!.members;
      for (let row = from; row < to; row++) {
        const sum = used.reduce((total, c) => total + own[c]![row]!, 0);
        assert.equal(predicted[i]![row], sum / used.length);
      }
    }
  }
});

test("a row without a forecast of any member has the first forecast that there is", () => {
  const tickers = testedTickers(3, ROWS, [0, 0.3, 0.29]);
  for (const c of [1, 2]) tickers[0]!.predicted[c]!.fill(Number.NaN, 190);
  tickers[1]!.predicted[0]!.fill(Number.NaN);
  const { predicted } = choosePrequentially(tickers, 3, { rule: "mean", ...SQUARED });
  assert.deepEqual(predicted[0]!.subarray(190), tickers[0]!.predicted[0]!.subarray(190));
  assert.ok(predicted.every((own) => own.every(Number.isFinite)));
});
