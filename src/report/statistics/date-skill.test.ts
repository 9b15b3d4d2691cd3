import assert from "node:assert/strict";
import { test } from "node:test";
import { mean } from "../../evaluate/statistics.ts";
import { crossSectionOf } from "../../evaluate/tables.testing.ts";
import { byDate, datedRows, dateSkill, plainRows } from "./dated-rows.testing.ts";

test("IC and RankIC by date have the means of the cross-section to the last bit, and stand at their dates", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const rows = datedRows(seed, 5);
    const { days, ic, rankIc, tickers } = dateSkill(rows);
    const across = crossSectionOf(rows);
    assert.deepEqual(
      [days.length, mean(ic), mean(rankIc)],
      [across.dates, across.ic_mean, across.rank_ic_mean],
    );
    const counted = byDate(plainRows(rows)).filter(
      ([, date]) =>
        date.length >= 3 &&
        [date.map(({ p }) => p), date.map(({ y }) => y)].every((side) => new Set(side).size > 1),
    );
    assert.deepEqual(
      [...days],
      counted.map(([day]) => day),
    );
    assert.deepEqual(
      [...tickers],
      counted.map(([, date]) => date.length),
    );
  }
});

test("no rows have no dates", () => {
  assert.equal(dateSkill([]).days.length, 0);
});
