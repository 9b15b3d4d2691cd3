import assert from "node:assert/strict";
import { test } from "node:test";
import { averageRanks } from "../../evaluate/rank.ts";
import { correlation } from "../../evaluate/statistics.ts";
import { average, byDate, datedRows, isNear, type PlainRow, plainRows } from "./dated-rows.testing.ts";
import { quantilesOf } from "./quantile-returns.ts";
import { turnover } from "./turnover.ts";

const COUNT = 3;

function topOf(date: readonly PlainRow[]): string[] {
  const quantiles = quantilesOf(
    Float64Array.from(date, ({ p }) => p),
    COUNT,
  );
  return date.filter((_, i) => quantiles[i] === COUNT - 1).map(({ ticker }) => ticker);
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
    const held = topOf(now).filter((ticker) => before.some((row) => row.ticker === ticker));
    const fresh = held.filter((ticker) => !topOf(before).includes(ticker));
    return { day, rho, replaced: held.length === 0 ? undefined : fresh.length / held.length };
  });
  return {
    pairs: found.flatMap(({ day, rho }) => (rho === null ? [] : [[day, rho] as const])),
    replaced: average(found.flatMap(({ replaced }) => replaced ?? [])),
  };
}

test("the rank autocorrelation and the replaced share are those of looking every ticker up", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const rows = datedRows(seed, 4 + (seed % 7));
    const { days, autocorrelation, topReplaced } = turnover(rows, COUNT);
    const slow = slowTurnover(plainRows(rows));
    assert.deepEqual(
      [...days],
      slow.pairs.map(([day]) => day),
    );
    assert.ok(slow.pairs.every(([, rho], i) => isNear(autocorrelation[i]!, rho)));
    assert.ok(isNear(topReplaced, slow.replaced));
  }
});

test("an order that stays correlates by 1 and replaces none, one that turns round by -1", () => {
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
  assert.deepEqual([stays.autocorrelation.length, stays.topReplaced], [8, 0]);
  const turns = turnover(
    rows((t, d) => (d % 2 === 0 ? t : -t)),
    COUNT,
  );
  assert.ok(turns.autocorrelation.every((rho) => isNear(rho, -1)));
  assert.equal(turns.topReplaced, 1);
});

test("one date, and two tickers, have no turnover of their order", () => {
  assert.equal(turnover(datedRows(1, 2), COUNT).days.length, 0);
  const { days, topReplaced } = turnover(datedRows(1, 5, 1), COUNT);
  assert.ok(days.length === 0 && Number.isNaN(topReplaced));
});
