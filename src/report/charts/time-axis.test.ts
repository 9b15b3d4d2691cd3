import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDay } from "../../contract/market/dates.ts";
import { timeLabels } from "./time-axis.ts";

function labels(first: string, last: string): string[] {
  return timeLabels(parseDay(first)!, parseDay(last)!).map(({ text }) => text);
}

test("an axis of time names the starts of years, quarters or months, whichever are few", () => {
  assert.deepEqual(labels("2018-12-31", "2022-12-27"), ["2019", "2020", "2021", "2022"]);
  assert.deepEqual(labels("2021-02-10", "2022-02-10"), ["2021-04", "2021-07", "2021-10", "2022-01"]);
  assert.deepEqual(labels("2021-02-10", "2021-04-20"), ["2021-03", "2021-04"]);
  assert.deepEqual(labels("2021-01-01", "2021-04-20"), ["2021-01", "2021-02", "2021-03", "2021-04"]);
  assert.ok(labels("1900-01-01", "2020-01-01").length <= 6);
});

test("a span within a month has its two ends, a day itself", () => {
  assert.deepEqual(labels("2021-02-03", "2021-02-20"), ["2021-02-03", "2021-02-20"]);
  assert.deepEqual(labels("2021-02-03", "2021-02-03"), ["2021-02-03"]);
});

test("labels stand where their day is", () => {
  const [first, last] = [parseDay("2020-01-01")!, parseDay("2021-01-01")!];
  for (const { at, text } of timeLabels(first, last)) {
    assert.equal(first + at * (last - first), parseDay(`${text}-01`));
  }
});
