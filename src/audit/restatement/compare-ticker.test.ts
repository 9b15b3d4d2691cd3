import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../../test/twins/random.ts";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { type Change, compareTicker, LATE_DAYS, ROUNDING } from "./compare-ticker.ts";

/** One column by date, as a person would write it down; a date without a value has NaN. */
type Written = ReadonlyMap<number, number>;

const cell = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -1e5, max: 1e5 }).map((n) => n / 1e3) },
  { weight: 2, arbitrary: fc.constant(Number.NaN) },
  { weight: 2, arbitrary: fc.integer({ min: -2, max: 2 }) },
);
const history = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 40 }), cell), { selector: ([day]) => day, maxLength: 30 })
  .map((cells): Written => new Map(cells.toSorted(([a], [b]) => a - b)));

/** Today's history: some of the earlier dates and values, some changed ones, and others. */
const histories = fc.tuple(history, history, fc.nat()).map(([before, other, seed]): [Written, Written] => {
  const random = seededRandom(seed);
  const kept = [...before].filter(() => random.uniform() < 0.9);
  const after = kept.map(([day, value]) => {
    const drawn = random.uniform();
    if (drawn < 0.1) return [day, Number.NaN] as const;
    if (drawn < 0.2) return [day, value + random.normal()] as const;
    return [day, drawn < 0.3 ? value * (1 + 1e-9) : value] as const;
  });
  const extra = random.uniform() < 0.5 ? [...other] : [];
  return [before, new Map([...extra, ...after].toSorted(([a], [b]) => a - b))];
});

function asTicker(written: Written, name = "x"): TickerSeries {
  const days = Int32Array.from(written.keys());
  return { ticker: "T", days, columns: [name], values: Float64Array.from(written.values()) };
}

/** The definition of each change, date by date. */
function twin(before: Written, after: Written): Map<number, Change> {
  const firstOf = (cells: Iterable<[number, number]>) => Math.min(...[...cells].map(([day]) => day));
  const common = [...before.keys()].filter((day) => after.has(day));
  const numbers = common.map((day) => before.get(day)!).filter((value) => !Number.isNaN(value));
  const centre = numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
  const deviation = Math.sqrt(
    numbers.reduce((sum, value) => sum + (value - centre) ** 2, 0) / numbers.length,
  );
  const valued = (side: Written) => common.filter((day) => !Number.isNaN(side.get(day)!));
  const end = Math.max(...before.keys());
  const lastValued = Math.max(...[...before].flatMap(([day, value]) => (Number.isNaN(value) ? [] : [day])));
  const changes = new Map<number, Change>();
  for (const day of common) {
    const [a, b] = [before.get(day)!, after.get(day)!];
    const [gone, come] = [Number.isNaN(b) && !Number.isNaN(a), Number.isNaN(a) && !Number.isNaN(b)];
    const isWarmUp =
      (gone &&
        firstOf(before) < firstOf(after) &&
        day < Math.min(...valued(after)) &&
        valued(after).length > 0) ||
      (come &&
        firstOf(after) < firstOf(before) &&
        day < Math.min(...valued(before)) &&
        valued(before).length > 0);
    if (isWarmUp) changes.set(day, "warm_up");
    else if (gone) changes.set(day, "erased");
    else if (come && day > lastValued && day > end - LATE_DAYS) changes.set(day, "late");
    else if (come) changes.set(day, "filled");
    else if (!Number.isNaN(a) && a !== b) {
      const slack = ROUNDING * Math.max(Math.abs(a), Math.abs(b), deviation || 0);
      changes.set(day, Math.abs(a - b) <= slack ? "rounded" : "rewritten");
    }
  }
  return changes;
}

/** How the numbers of a column were rewritten is of the whole column, and does not count here. */
const PLAIN: Partial<Record<Change, Change>> = { rescaled: "rewritten", standardised: "rewritten" };

function found(before: Written, after: Written): Map<number, Change> {
  const { changed } = compareTicker(asTicker(before), asTicker(after));
  return new Map(
    changed.flatMap(({ days, changes }) =>
      changes.flatMap((kind, i) => (kind === undefined ? [] : [[days[i]!, PLAIN[kind] ?? kind] as const])),
    ),
  );
}

test("the changes of a column are those of the plain definition, date by date", () => {
  fc.assert(
    fc.property(histories, ([before, after]) => {
      assert.deepEqual(found(before, after), twin(before, after));
    }),
    { numRuns: 2_000 },
  );
});

test("columns are compared by name, whatever their order", () => {
  const days = Int32Array.of(1, 2, 3);
  const previous = {
    ticker: "T",
    days,
    columns: ["a", "b", "c"],
    values: Float64Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9),
  };
  const current = {
    ticker: "T",
    days: Int32Array.of(2, 3, 4),
    columns: ["d", "c", "a"],
    values: Float64Array.of(0, 0, 0, 8, 10, 11, 2, 3, 4),
  };
  const { columns, values, changed, removed, added } = compareTicker(previous, current);
  assert.deepEqual([columns, values, removed, added], [2, 4, ["b"], ["d"]]);
  assert.deepEqual(
    changed.map(({ column, days: common, changes, reach }) => [column, [...common], changes, reach]),
    [["c", [2, 3], [undefined, "rewritten"], 1]],
  );
});

test("one value of 2,000 that moves by 1e-6 deviations is rewritten, even if a line through all would miss it", () => {
  const random = seededRandom(11);
  const written: Written = new Map(Array.from({ length: 2_000 }, (_, day) => [day, random.normal() ** 3]));
  // The deviation is the root of 15; the values spread over some 15 of them.
  for (let at = 0; at < 2_000; at += 50) {
    const moved = new Map([...written].map(([day, value]) => [day, day === at ? value + 4e-6 : value]));
    const [change] = compareTicker(asTicker(written), asTicker(moved)).changed;
    assert.equal(change!.changes[at], "rewritten", String(at));
  }
});
