import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { formatDay, MILLISECONDS_PER_DAY } from "../contract/market/dates.ts";
import { dayOfEpoch, dayOfText, isDateKey, whyNoDate, zoneCalendar } from "./date-text.ts";

describe("a date of a blob", () => {
  it("is read from ISO and from epoch milliseconds", () => {
    fc.assert(
      fc.property(fc.integer({ min: -719_528, max: 2_932_896 }), (day) => {
        assert.equal(dayOfText(formatDay(day)), day);
        assert.equal(dayOfText(`${formatDay(day)}T00:00:00-12:00`), day);
        assert.equal(dayOfText(String(day * MILLISECONDS_PER_DAY)), day);
        assert.equal(dayOfEpoch(day * MILLISECONDS_PER_DAY), day);
      }),
    );
  });

  it("is kept at midnight, whatever its offset, in each spelling", () => {
    const times =
      "T00:00:00+09:00|T00:00:00.000Z| 00:00:00.000000000|T00| 0:00| 12:00 AM| 00:00 EST|T00:00-0500";
    for (const time of times.split("|"))
      assert.equal(formatDay(dayOfText(`2024-02-29${time}`)), "2024-02-29", time);
  });

  it("is in a zone at any other time: a time without an offset is on its clock", () => {
    const [berlin, newYork] = [zoneCalendar("Europe/Berlin"), zoneCalendar("America/New_York")];
    for (const [time, inBerlin, inNewYork] of [
      ["T22:59:59Z", "2024-02-29", "2024-02-29"],
      ["T23:00:00.000Z", "2024-03-01", "2024-02-29"],
      [" 04:59:59+00:00", "2024-02-29", "2024-02-28"],
      [" 11:00 PM -0500", "2024-03-01", "2024-02-29"],
      [" 16:00", "2024-02-29", "2024-02-29"],
    ] as const) {
      const text = `2024-02-29${time}`;
      assert.ok(Number.isNaN(dayOfText(text)), text);
      assert.match(whyNoDate(text), /^is not midnight in its own zone/);
      assert.equal(formatDay(dayOfText(text, berlin)), inBerlin, text);
      assert.equal(formatDay(dayOfText(text, newYork)), inNewYork, text);
    }
    assert.ok(Number.isNaN(dayOfText("2024-02-29 16:00 IST", berlin)));
  });

  it("is rejected beyond the year 9999, before a text that is not a time, or in another notation", () => {
    for (const epoch of [1, -1, 0.5, 86_399_999, 1e300, 2_932_897 * MILLISECONDS_PER_DAY, Number.NaN])
      assert.ok(Number.isNaN(dayOfEpoch(epoch)), String(epoch));
    const others = "|-|2020|2020-1-2|2020-02-30|2020-01-02x| 2020-01-02|1e3|0.0|20200102|AAPL";
    const times =
      "T| |T25:00:00Z|T24:00:00Z|T00:60|T00:00:61|T00:00 +25:00|T00:00Zebra|T00:0|T000000|\n|T00:00:00\n";
    for (const text of [...others.split("|"), ...times.split("|").map((time) => `2020-01-02${time}`)]) {
      assert.ok(Number.isNaN(dayOfText(text)), text);
      assert.match(whyNoDate(text), /^is not a date/);
    }
  });

  it("is distinguished from a name, such as a column 0 or a ticker 7203", () => {
    for (const text of ["0", "7203", "600519", "594918104", "AAPL"]) assert.ok(!isDateKey(text), text);
    for (const text of ["2020-01-02", "2020-01-02T22:00:00Z", "1577923200000", "-86400000"])
      assert.ok(isDateKey(text), text);
  });
});
