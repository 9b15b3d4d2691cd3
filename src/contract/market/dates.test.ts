import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { dayOfCivil, formatDay, MILLISECONDS_PER_DAY, parseDay } from "./dates.ts";

test("a day number and its date convert to each other, over all years of four digits", () => {
  fc.assert(
    fc.property(fc.integer({ min: -719_528, max: 2_932_896 }), (day) => {
      assert.equal(parseDay(formatDay(day)), day);
    }),
  );
});

test("days agree with the calendar of Date", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
      (date) => {
        const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
        assert.equal(dayOfCivil(year, month, day), Math.floor(date.getTime() / MILLISECONDS_PER_DAY));
      },
    ),
  );
});

test("a text that is not a date gives undefined", () => {
  for (const text of ["2023-02-29", "2023-13-01", "2023-00-10", "2023-1-1", "20230101", "2023-01-01x", ""]) {
    assert.equal(parseDay(text), undefined, text);
  }
});
