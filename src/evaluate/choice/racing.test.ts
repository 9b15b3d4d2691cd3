import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "../../contract/machine/pausable.ts";
import { countKnown, lossSeries, type TestedTicker } from "./candidate-losses.ts";
import { testedTickers } from "./choice.testing.ts";
import { difference } from "./members.ts";
import { choosePrequentially } from "./prequential.ts";
import { candidatesBehind, comparisonDays, NONE_DROPPED } from "./racing.ts";

const TICKERS = testedTickers(4, 200, [0, 0.4, 0.38, -2]);

function behindAt(tickers: readonly TestedTicker[], day: number, dropped = NONE_DROPPED): number[] {
  return atOnce(candidatesBehind(tickers, 4, "squared_error", dropped, day));
}

test("candidates are compared after every five folds", () => {
  const folds = Array.from({ length: 20 }, (_, i) => ({ from: i, to: i + 1, first: 100 + 3 * i }));
  const tickers = [{ folds }, { folds }, { folds: folds.slice(10) }];
  assert.deepEqual(comparisonDays(tickers.slice(0, 2), 20), [115, 130, 145]);
  assert.deepEqual(comparisonDays(tickers.slice(0, 2), 12), [folds[8]!.first, folds[16]!.first]);
  assert.equal(comparisonDays(tickers, 20).length, 3);
  assert.deepEqual(comparisonDays(tickers, 5), []);
  assert.deepEqual(comparisonDays([{ folds: [] }], 20), []);
});

test("a candidate is dropped whose known losses exceed the smallest by more than two errors", () => {
  const { days, excess } = atOnce(lossSeries(TICKERS, 4, "squared_error"));
  let dropped = 0;
  for (const day of [120, 135, 150, 200, 290]) {
    const known = countKnown(days, day);
    const mean = (c: number) => excess[c]!.subarray(0, known).reduce((sum, value) => sum + value, 0) / known;
    const best = [0, 1, 2, 3].reduce((least, c) => (mean(c) < mean(least) ? c : least));
    const expected = [1, 2, 3].filter((c) => {
      const gap = difference(excess[c]!, excess[best]!, known);
      return known >= 30 && gap.mean > 2 * gap.error;
    });
    assert.deepEqual(behindAt(TICKERS, day), expected, `${day}`);
    dropped += expected.length;
  }
  assert.ok(dropped > 0);
});

test("a candidate is compared on at least 30 dates that the best has too", () => {
  const day = 290;
  const behindWithin = (common: number) => {
    const tickers = TICKERS.map((ticker) => {
      const [zero, best, other] = ticker.predicted as [Float64Array, Float64Array, Float64Array];
      const from = ticker.labelDays.findIndex((label) => label > 200);
      const start = ticker.labelDays.findIndex((label) => label > 200 - common);
      const worst = ticker.predicted[3]!.map((value, i) => (i < from ? value : Number.NaN));
      return {
        ...ticker,
        predicted: [
          zero,
          best.map((value, i) => (i < start ? Number.NaN : value)),
          other.map(() => Number.NaN),
          worst,
        ],
      };
    });
    return behindAt(tickers, day);
  };
  assert.deepEqual(behindWithin(40), [3]);
  assert.deepEqual(behindWithin(29), []);
});

test("later labels drop no candidate", () => {
  const day = 200;
  const changed = TICKERS.map((ticker) => ({
    ...ticker,
    realised: ticker.realised.map((y, i) => (ticker.labelDays[i]! <= day ? y : -5 * y)),
  }));
  assert.deepEqual(behindAt(changed, day), behindAt(TICKERS, day));
  assert.ok(behindAt(TICKERS, day).length > 0);
});

test("neither candidate 0 nor candidates that were dropped before are compared", () => {
  const worst = TICKERS.map((ticker) => ({
    ...ticker,
    predicted: ticker.predicted.with(
      0,
      ticker.predicted[0]!.map(() => 50),
    ),
  }));
  assert.ok(!behindAt(worst, 290).includes(0));
  assert.ok(behindAt(TICKERS, 290).includes(3));
  assert.ok(!behindAt(TICKERS, 290, new Map([[3, 150]])).includes(3));
});

test("a dropped candidate forecasts no later fold", () => {
  const settings = { rule: "mean", over: "all", measure: "squared_error" } as const;
  const members = (dropped = NONE_DROPPED) =>
    atOnce(choosePrequentially(TICKERS, 4, { ...settings, dropped })).changes;
  const changes = members(new Map([[1, 180]]));
  for (const { day, members: own } of changes) assert.ok(day < 180 || !own.includes(1));
  const before = ({ day }: { readonly day: number }) => day < 180;
  assert.deepEqual(changes.filter(before), members().filter(before));
  assert.ok(members().some(({ members: own }) => own.includes(1)));
});
