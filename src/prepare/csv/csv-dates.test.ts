import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MucastError } from "../../contract/errors/errors.ts";
import { formatDay } from "../../contract/market/dates.ts";
import { DateColumn } from "./csv-dates.ts";

function datesOf(...texts: string[]): string[] {
  const column = new DateColumn("p.csv");
  const tokens = texts.map((text, i) => column.take(text, i + 2));
  const days = column.days();
  return tokens.map((token) => formatDay(days[token]!));
}

function refusal(...texts: string[]): string {
  try {
    datesOf(...texts);
  } catch (error) {
    assert.ok(error instanceof MucastError && error.code === "invalid_data", String(error));
    return error.message;
  }
  return assert.fail(`${texts.join(", ")} was read`);
}

test("reads a date that has only one meaning, in each common spelling", () => {
  for (const text of [
    ...["2020-03-04", "2020-03-04T00:00:00Z", "2020-03-04 00:00:00+09:00", "20200304", "20200304 12:00 AM"],
    ...["2020/03/04", "2020/3/4", "2020-3-4", "2020.03.04", "2020/3/4 0:00", " 2020-03-04 "],
    ...[
      "4-Mar-2020",
      "04 Mar 2020",
      "04MAR2020",
      "4 March 2020",
      "Mar 4, 2020",
      "March 04 2020",
      "Mar. 4, 2020",
    ],
  ]) {
    assert.deepEqual(datesOf(text), ["2020-03-04"], text);
  }
});

test("refuses a text that is not a date, with its line", () => {
  for (const text of [
    ...["", "x", "2020-13-01", "2021-02-29", "20210229", "2020-02-30", "31/31/2020", "30/2/2020", "1/1/20"],
    ...["43831", "1583280000000", "4-Mrz-2020", "2020", "2020-03", "0/1/2020", "Marching 4, 2020"],
    ...["2020-03-04 garbage", "2020-03-04T25:00:00Z", "20200304 25:00", "2020/3/4 x", "4-Mar-2020 noonish"],
  ]) {
    assert.match(refusal("2020-01-01", text), /line 3/, text);
  }
});

test("the fault of a number or a two-digit year says what it may mean", () => {
  for (const [text, words] of [
    ["43831", /as a day number of a spreadsheet it would be 2020-01-01: write dates as YYYY-MM-DD$/],
    ["43831.75", /it would be 2020-01-01/],
    ["1583280000", /as seconds since 1970 it would be 2020-03-04/],
    ["1583280000000", /as milliseconds since 1970 it would be 2020-03-04/],
    ["1583280000000000000", /as nanoseconds since 1970 it would be 2020-03-04/],
    ["1/31/20", /a year of two digits may be of either century/],
    ["4-Mar-20", /a year of two digits/],
    ["2020", /is not a date$/],
    ["yesterday", /is not a date$/],
  ] as const) {
    assert.match(refusal(text), words, text);
  }
});

test("takes the order of day and month from any date of the column that shows it", () => {
  assert.deepEqual(datesOf("3/4/2020", "13/4/2020"), ["2020-04-03", "2020-04-13"]);
  assert.deepEqual(datesOf("3/4/2020", "4/13/2020 0:00"), ["2020-03-04", "2020-04-13"]);
  assert.deepEqual(datesOf("03.04.2020", "13.04.2020"), ["2020-04-03", "2020-04-13"]);
  assert.deepEqual(datesOf("1/1/2020", "2/2/2020"), ["2020-01-01", "2020-02-02"]);
});

test("refuses an order that no date shows, and never guesses it", () => {
  assert.match(refusal("1/1/2020", "3/4/2020", "12/1/2020"), /"3\/4\/2020" \(line 3\).*YYYY-MM-DD/);
});

test("refuses an order that changes within the column, with both lines", () => {
  assert.match(refusal("3/4/2020", "13/4/2020", "4/14/2020"), /line 3.*line 4/);
});

test("refuses a column that would only fit the other order with a date that does not exist", () => {
  assert.match(refusal("3/30/2020", "2/30/2020"), /line 3/);
  assert.match(refusal("13/1/2020", "31/4/2020"), /line 3/);
});

test("reads slashed dates, if at all, as the dates that were written", () => {
  const day = fc.integer({ min: 0, max: 25_000 }).map(formatDay);
  fc.assert(
    fc.property(fc.array(day, { minLength: 1, maxLength: 30 }), fc.boolean(), (days, dayFirst) => {
      const texts = days.map((iso) => {
        const [year, month, date] = iso.split("-").map(Number);
        return dayFirst ? `${date}/${month}/${year}` : `${month}/${date}/${year}`;
      });
      const told = days.some((iso) => Number(iso.slice(8)) > 12);
      const same = days.every((iso) => iso.slice(5, 7) === iso.slice(8));
      if (told || same) assert.deepEqual(datesOf(...texts), days);
      else refusal(...texts);
    }),
  );
});
