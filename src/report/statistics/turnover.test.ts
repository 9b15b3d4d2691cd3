import assert from "node:assert/strict";
import { test } from "node:test";
import { quantilesOf } from "../../evaluate/quantiles.ts";
import { averageRanks } from "../../evaluate/rank.ts";
import { correlation } from "../../evaluate/statistics.ts";
import { byDate, datedRows, isNear, type PlainRow, plainRows } from "./dated-rows.testing.ts";
import { turnover } from "./turnover.ts";

const COUNT = 3;

function endOf(date: readonly PlainRow[], end: number): string[] {
  const quantiles = quantilesOf(
    Float64Array.from(date, ({ p }) => p),
    COUNT,
  );
  return date.filter((_, i) => quantiles[i] === end).map(({ ticker }) => ticker);
}

function slowTurnover(rows: readonly PlainRow[]) {
  const dates = byDate(rows);
  const found = dates.slice(1).map(([day, now], i) => {
    const before = dates[i]![1];
    const earlier = (row: PlainRow) => before.find(({ ticker }) => ticker === row.ticker);
    const both = now.filter((row) => earlier(row) !== undefined);
    const ranks = (values: readonly number[]) => averageRanks(Float64Array.from(values));
    const rho =
      both.length < 3
        ? null
        : correlation(ranks(both.map((row) => earlier(row)!.p)), ranks(both.map(({ p }) => p)));
    const replacedOf = (end: number) => {
      const held = endOf(now, end).filter((ticker) => before.some((row) => row.ticker === ticker));
      const fresh = held.filter((ticker) => !endOf(before, end).includes(ticker));
      return held.length === 0 ? undefined : fresh.length / held.length;
    };
    return { day, rho, top: replacedOf(COUNT - 1), bottom: replacedOf(0) };
  });
  return {
    pairs: found.flatMap(({ day, rho }) => (rho === null ? [] : [[day, rho] as const])),
    replaced: found.flatMap(({ day, top, bottom }) =>
      top === undefined || bottom === undefined ? [] : [{ day, top, bottom }],
    ),
  };
}

test("the rank autocorrelation and the replaced shares of both ends equal looking up every ticker", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const rows = datedRows(seed, 4 + (seed % 7));
    const { days, autocorrelation, replaced } = turnover(rows, COUNT);
    const slow = slowTurnover(plainRows(rows));
    assert.deepEqual(
      [...days],
      slow.pairs.map(([day]) => day),
    );
    assert.ok(slow.pairs.every(([, rho], i) => isNear(autocorrelation[i]!, rho)));
    assert.deepEqual(
      Array.from(replaced.days, (day, i) => ({ day, top: replaced.top[i]!, bottom: replaced.bottom[i]! })),
      slow.replaced,
    );
  }
});

test("a constant order correlates by 1 and replaces none, a reversed one by -1", () => {
  const days = Int32Array.from({ length: 9 }, (_, d) => d);
  const rows = (at: (t: number, d: number) => number) =>
    Array.from({ length: 6 }, (_, t) => ({
      ticker: `T${t}`,
      days,
      predicted: Float64Array.from(days, (d) => at(t, d)),
    }));
  const stays = turnover(
    rows((t, d) => t + d),
    COUNT,
  );
  assert.ok(stays.autocorrelation.every((rho) => isNear(rho, 1)));
  assert.equal(stays.autocorrelation.length, 8);
  assert.deepEqual([...stays.replaced.top, ...stays.replaced.bottom], new Array(16).fill(0));
  const turns = turnover(
    rows((t, d) => (d % 2 === 0 ? t : -t)),
    COUNT,
  );
  assert.ok(turns.autocorrelation.every((rho) => isNear(rho, -1)));
  assert.deepEqual([...turns.replaced.top, ...turns.replaced.bottom], new Array(16).fill(1));
});

test("one date, and two tickers, have no turnover of their order", () => {
  assert.equal(turnover(datedRows(1, 2), COUNT).days.length, 0);
  const { days, replaced } = turnover(datedRows(1, 5, 1), COUNT);
  assert.deepEqual([days.length, replaced.days.length], [0, 0]);
});
