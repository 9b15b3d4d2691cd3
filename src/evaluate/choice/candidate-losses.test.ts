import assert from "node:assert/strict";
import { test } from "node:test";
import { countKnown, lossSeries, type TestedTicker } from "./candidate-losses.ts";
import { testedTickers } from "./choice.testing.ts";

/** The mean excess of a candidate on a label date, row by row. */
function plainExcess(tickers: readonly TestedTicker[], c: number, reference: number, day: number): number {
  const terms: number[] = [];
  for (const { labelDays, realised, predicted, unit } of tickers) {
    for (const [i, label] of labelDays.entries()) {
      const [y, p, r] = [realised[i]!, predicted[c]![i]!, predicted[reference]![i]!];
      if (label === day && !Number.isNaN(p) && !Number.isNaN(r))
        terms.push(((y - p) ** 2 - (y - r) ** 2) / unit);
    }
  }
  return terms.reduce((sum, term) => sum + term, 0) / terms.length;
}

test("the excess of a candidate is the mean over the tickers of a label date, row by row", () => {
  const tickers = testedTickers(4, 20, [0.1, 0.5, -0.2]);
  tickers[1]!.predicted[2]!.fill(Number.NaN);
  tickers[2]!.predicted[0]!.fill(Number.NaN, 0, 10);
  const { days, reference, excess } = lossSeries(tickers, 3, "squared_error");
  assert.equal(reference, 1, "candidate 1 has the most rows");
  assert.deepEqual(
    [...days],
    Array.from({ length: 23 }, (_, i) => 101 + i),
  );
  for (const [c, series] of excess.entries()) {
    for (const [d, value] of series.entries()) {
      const expected = plainExcess(tickers, c, 1, days[d]!);
      assert.ok(
        Number.isNaN(expected) ? Number.isNaN(value) : Math.abs(value - expected) < 1e-12,
        `${c} ${d}`,
      );
    }
  }
});

test("a ticker without a unit has no losses", () => {
  const [first, second] = testedTickers(2, 20, [0, 1]);
  const alone = lossSeries([first!], 2, "squared_error");
  assert.deepEqual(lossSeries([first!, { ...second!, unit: 0 }], 2, "squared_error"), alone);
  assert.equal(lossSeries([], 2, "squared_error").days.length, 0);
});

test("labels known at a day are counted", () => {
  const days = Int32Array.of(3, 5, 5, 9);
  assert.deepEqual(
    [2, 3, 4, 5, 8, 9, 10].map((day) => countKnown(days, day)),
    [0, 1, 1, 3, 3, 4, 4],
  );
});
