import assert from "node:assert/strict";
import { test } from "node:test";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import {
  average,
  byDate,
  datedRows,
  isNear,
  type PlainRow,
  plainRows,
  rowsByDateOf,
} from "./dated-rows.testing.ts";
import { quantileCount, quantileReturns } from "./quantile-returns.ts";

/** The quantile of a row among those of its date: by how many forecasts are lower, and half of the others that are equal. */
function slowQuantile({ p }: PlainRow, date: readonly PlainRow[], count: number): number {
  const lower = date.filter((other) => other.p < p).length;
  const equal = date.filter((other) => other.p === p).length;
  return Math.floor((count * (lower + (equal + 1) / 2 - 0.5)) / date.length);
}

function slowReturns(rows: readonly PlainRow[], count: number) {
  const dates = byDate(rows).filter(
    ([, date]) => date.length >= 3 && new Set(date.map(({ p }) => p)).size > 1,
  );
  const meanOf = (date: readonly PlainRow[], q: number) => {
    const held = date.filter((row) => slowQuantile(row, date, count) === q);
    return held.length === 0 ? undefined : average(held.map(({ y }) => Math.exp(y) - 1));
  };
  const quantiles = Array.from({ length: count }, (_, q) =>
    dates.flatMap(([, date]) => meanOf(date, q) ?? []),
  );
  const spread = dates.flatMap(([day, date]) => {
    const [bottom, top] = [meanOf(date, 0), meanOf(date, count - 1)];
    return bottom === undefined || top === undefined ? [] : [{ day, value: top - bottom }];
  });
  return { quantiles, spread };
}

test("returns by quantile and their spread equal counting, with ties together", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const rows = datedRows(seed, 3 + (seed % 10));
    for (const count of [3, 5]) {
      const { quantiles, spread } = quantileReturns(rowsByDateOf(rows), count);
      const slow = slowReturns(plainRows(rows), count);
      for (const [q, { realised }] of quantiles.entries()) {
        assert.equal(realised.length, slow.quantiles[q]!.length);
        assert.ok(slow.quantiles[q]!.every((value, i) => isNear(realised[i]!, value)));
      }
      assert.deepEqual(
        [...spread.days],
        slow.spread.map(({ day }) => day),
      );
      assert.ok(slow.spread.every(({ value }, i) => isNear(spread.values[i]!, value)));
    }
  }
});

const changed = (rows: readonly DatedForecasts[], by: (p: number) => number): DatedForecasts[] =>
  rows.map((row) => ({ ...row, predicted: row.predicted.map(by) }));

test("only the order of the forecasts counts, and reversing it reverses the spread", () => {
  const rows = datedRows(3, 9);
  const { spread } = quantileReturns(rowsByDateOf(rows), 3);
  const stretched = quantileReturns(rowsByDateOf(changed(rows, (p) => 7 * p ** 3 + 1)), 3).spread;
  assert.deepEqual([...stretched.values], [...spread.values]);
  // Without ties, which are at the lower end of a quantile in both directions.
  const distinct = rows.map((row, t) => ({ ...row, predicted: row.predicted.map((p) => p + t / 1e6) }));
  const there = quantileReturns(rowsByDateOf(distinct), 3).spread.values;
  const back = quantileReturns(rowsByDateOf(changed(distinct, (p) => -p)), 3).spread.values;
  const odd = there.filter((value, i) => !isNear(value, -back[i]!)).length;
  assert.ok(odd === 0, `${odd} of ${there.length}`);
});

test("forecasts of two tickers, or equal ones, have no useful order", () => {
  assert.equal(quantileReturns(rowsByDateOf(datedRows(1, 2)), 3).spread.days.length, 0);
  const equal = changed(datedRows(1, 5), () => 0);
  assert.equal(quantileReturns(rowsByDateOf(equal), 3).spread.days.length, 0);
});

test("fifty tickers have tenths, ten have fifths, fewer have thirds", () => {
  assert.deepEqual([3, 9, 10, 49, 50].map(quantileCount), [3, 3, 5, 5, 10]);
});

test("the return of a quantile is the return of equal amounts in its tickers", () => {
  // Half of the top doubles and half of it halves: log-returns average to 0, the money grows by a quarter.
  const labels = [0, 0, 0, 0, Math.log(2), Math.log(0.5)];
  const rows = labels.map((label, t) => ({
    ticker: `T${t}`,
    days: Int32Array.of(1),
    predicted: Float64Array.of(t < 4 ? t / 10 : 1),
    realised: Float64Array.of(label),
  }));
  const { quantiles, spread } = quantileReturns(rowsByDateOf(rows), 3);
  assert.ok(isNear(quantiles[2]!.realised[0]!, 0.25) && isNear(spread.values[0]!, 0.25));
});
