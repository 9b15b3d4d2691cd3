import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { orderByDates } from "./rows.ts";

const FIRST_YEAR = -719_162;
const LAST_YEAR = 2_932_896;

test("sorts rows by the first date, then the second, and otherwise keeps their order", () => {
  const day = fc.oneof(fc.integer({ min: FIRST_YEAR, max: LAST_YEAR }), fc.integer({ min: 0, max: 4 }));
  const row = fc.tuple(day, fc.oneof(fc.integer({ min: -1, max: 10 }), fc.integer({ min: -1, max: 60 })));
  const property = fc.property(fc.array(row, { maxLength: 60 }), (rows) => {
    const slow = [...rows.keys()].sort(
      (a, b) => rows[a]![0] - rows[b]![0] || rows[a]![1] - rows[b]![1] || a - b,
    );
    const fast = orderByDates(
      Int32Array.from(rows, ([first]) => first),
      Int32Array.from(rows, ([first, span]) => first + span),
    );
    assert.deepEqual([...fast], slow);
  });
  fc.assert(property, { seed: 1 });
});
