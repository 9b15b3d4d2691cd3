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

test("only the first ten characters of a date-time count, whatever its offset", () => {
  const expected = parseDay("2024-02-29");
  for (const time of [
    ...[
      "T00:00:00+09:00",
      " 23:59:59",
      "T00:00:00.000Z",
      "T00:00:00.000000000",
      " 00:00:00.123456-0500",
      "T23:59:60Z",
    ],
    ...[
      "T16",
      " 16:00",
      " 9:30",
      " 4:00 PM",
      " 16:00 EST",
      " 00:00:00 UTC",
      " 00:00:00 +0000",
      "T00:00+09",
      "T23:00:00,5Z",
    ],
  ]) {
    assert.equal(parseDay(`2024-02-29${time}`), expected, time);
  }
});

test("a date followed by something other than a time is not a date", () => {
  for (const rest of [
    ...[
      " garbage",
      "T",
      " ",
      "T25:00:00Z",
      "T24:00:00Z",
      "T23:60",
      "T12:00:61",
      "T12:00:00 +25:00",
      "T12:00:00+09:60",
    ],
    ...[
      "T00:00:00Zebra",
      " 12:00 in Tokyo",
      "T12:00:00Z ",
      " 2024-02-29",
      "T12:3",
      "T120000",
      "\n",
      "T00:00:00\n",
    ],
  ]) {
    assert.equal(parseDay(`2024-02-29${rest}`), undefined, JSON.stringify(rest));
  }
});

test("a text that is not a date gives undefined", () => {
  for (const text of ["2023-02-29", "2023-13-01", "2023-00-10", "2023-1-1", "20230101", "2023-01-01x", ""]) {
    assert.equal(parseDay(text), undefined, text);
  }
});
