import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatDay } from "../../contract/market/dates.ts";
import { months, years } from "./periods.ts";

/** Successive positions whose dates begin with the same characters. */
function slowGroups(days: Int32Array, characters: number): [string, number, number][] {
  const groups: [string, number, number][] = [];
  for (const [i, day] of days.entries()) {
    const name = formatDay(day).slice(0, characters);
    const last = groups.at(-1);
    if (last?.[0] === name) last[2] = i + 1;
    else groups.push([name, i, i + 1]);
  }
  return groups;
}

test("months and years are those in which the days are written", () => {
  const day = fc.integer({ min: -800, max: 40_000 });
  const property = fc.property(fc.uniqueArray(day, { maxLength: 60 }), (list) => {
    const days = Int32Array.from(list).sort();
    const month = months(days).map(({ year, month: number, from, to }) => [
      `${year}-${String(number).padStart(2, "0")}`,
      from,
      to,
    ]);
    assert.deepEqual(month, slowGroups(days, 7));
    assert.deepEqual(
      years(days).map(({ year, from, to }) => [String(year), from, to]),
      slowGroups(days, 4),
    );
  });
  fc.assert(property, { seed: 1 });
});
