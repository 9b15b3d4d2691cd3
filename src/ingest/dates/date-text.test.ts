import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { formatDay, MILLISECONDS_PER_DAY } from "../../contract/market/dates.ts";
import { dayOfEpoch, dayOfText, isDateText } from "./date-text.ts";

describe("a date of a blob", () => {
  it("is read from ISO and from epoch milliseconds", () => {
    fc.assert(
      fc.property(fc.integer({ min: -719_528, max: 2_932_896 }), (day) => {
        assert.equal(dayOfText(formatDay(day)), day);
        assert.equal(dayOfText(`${formatDay(day)}T23:59:59-12:00`), day);
        assert.equal(dayOfText(String(day * MILLISECONDS_PER_DAY)), day);
        assert.equal(dayOfEpoch(day * MILLISECONDS_PER_DAY), day);
      }),
    );
  });

  it("is rejected at any other time of day, beyond the year 9999, or in another notation", () => {
    for (const epoch of [1, -1, 0.5, 86_399_999, 1e300, 2_932_897 * MILLISECONDS_PER_DAY, Number.NaN]) {
      assert.ok(Number.isNaN(dayOfEpoch(epoch)), String(epoch));
    }
    const texts = [
      "",
      "-",
      "2020",
      "2020-1-2",
      "2020-02-30",
      "2020-01-02x",
      " 2020-01-02",
      "1e3",
      "0.0",
      "20200102",
      "AAPL",
    ];
    for (const text of texts) assert.ok(Number.isNaN(dayOfText(text)), text);
  });

  it("is distinguished from a name, such as a column 0 or a ticker 7203", () => {
    for (const text of ["0", "7203", "600519", "594918104", "AAPL"])
      assert.ok(!isDateText(text, dayOfText(text)), text);
    for (const text of ["2020-01-02", "1577923200000", "-86400000"])
      assert.ok(isDateText(text, dayOfText(text)), text);
  });
});
