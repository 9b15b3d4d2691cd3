import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ChangedDays } from "./common-days.ts";
import { CalendarTally } from "./history-comparison.ts";

const days = fc
  .uniqueArray(fc.integer({ min: -50, max: 50 }), { maxLength: 30 })
  .map((all) => all.sort((a, b) => a - b));

test("rows that tickers lost and gained are counted within the days that both blobs cover", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(days, days), { minLength: 1, maxLength: 4 }), (tickers) => {
      const tally = new CalendarTally();
      for (const [i, [previous, current]] of tickers.entries())
        tally.add(`T${i}`, Int32Array.from(previous), Int32Array.from(current));
      const [before, after] = [
        tickers.flatMap(([previous]) => previous),
        tickers.flatMap(([, current]) => current),
      ];
      const first = Math.max(Math.min(...before), Math.min(...after));
      const last = Math.min(Math.max(...before), Math.max(...after));
      const only = (a: number[], b: number[]) =>
        a.filter((day) => !b.includes(day) && day >= first && day <= last);
      const lost = tickers.map(([previous, current]) => only(previous, current));
      const added = tickers.map(([previous, current]) => only(current, previous));
      for (const [changes, twin] of [
        [tally.lost(), lost],
        [tally.added(), added],
      ] as const) {
        assert.equal(changes.rows, twin.flat().length);
        assert.deepEqual(
          changes.tickers,
          twin.flatMap((rows, i) => (rows.length > 0 ? [`T${i}`] : [])),
        );
        assert.equal(changes.days.size, new Set(twin.flat()).size);
        assert.equal(changes.days.first, Math.min(...twin.flat()));
        assert.equal(changes.days.last, Math.max(...twin.flat()));
      }
    }),
  );
});

test("late rows are those behind a ticker's last one, near the earlier blob's end", () => {
  const tally = new CalendarTally();
  tally.add("A", Int32Array.of(1, 2, 30), Int32Array.of(1, 2, 30, 31));
  tally.add("B", Int32Array.of(1, 2, 28), Int32Array.of(1, 2, 28, 29, 30, 31));
  tally.add("C", Int32Array.of(1, 2, 30), Int32Array.of(1, 2, 29, 30, 31));
  tally.add("D", Int32Array.of(1, 2), Int32Array.of(1, 2, 3, 30));
  assert.equal(tally.added().rows, 5);
  assert.equal(tally.addedLate(10), 3);
});

test("a set of days counts each once, before 1970 and far from it too", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.integer({ min: -40, max: 40 }), fc.integer({ min: -720_000, max: 2_932_896 }))),
      (added) => {
        const set = new ChangedDays();
        for (const day of added) set.add(day);
        assert.deepEqual(
          [set.size, set.first, set.last],
          [new Set(added).size, Math.min(...added), Math.max(...added)],
        );
      },
    ),
  );
});
