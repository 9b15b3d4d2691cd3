import assert from "node:assert/strict";
import { test } from "node:test";
import { mlText } from "../../outputs/outputs.testing.ts";
import { page } from "../page.ts";
import { reported } from "../reported.testing.ts";
import { judgementOf, partsOf } from "./verdict.ts";

test("a line of evidence has the sentences of its part", () => {
  const sentence =
    "No skill on the score rows. Order: none. Sizes: none. Intervals: hold. Adaptive intervals reach the share.";
  const { head, parts } = partsOf({ verdict: { sentence } as never });
  assert.deepEqual(head, ["No skill on the score rows."]);
  assert.deepEqual(parts, [
    ["Order", ["Order: none."]],
    ["Sizes", ["Sizes: none."]],
    ["Intervals", ["Intervals: hold.", "Adaptive intervals reach the share."]],
  ]);
});

test("what is worse than zero is bad, and never good", () => {
  const html = page(reported(mlText({ scoreRows: 700, config: { intervals: {} } })));
  const chips = [...html.matchAll(/<li class="chip (\w+)">.*?<b>(\w+)<\/b>/gs)];
  assert.deepEqual(
    chips.map(([, kind, part]) => [part, kind]),
    [
      ["Order", "none"],
      ["Sizes", "bad"],
      ["Intervals", "good"],
    ],
  );
  const [, band] = /against zero, 95\u202f% band (.*?);/.exec(html)!;
  assert.match(html, new RegExp(`<b class="bad">[^<]*</b></td><td><bdi>95\u202f%: ${band}<`));
});

test("a figure is good or bad only if its band says so", () => {
  const judged = (aim: "covered" | "sized" | undefined, at: number, low: number, high: number) =>
    judgementOf({ low, high }, at, aim);
  assert.deepEqual(
    [judged(undefined, 0, 1, 2), judged(undefined, 0, -1, 1), judged(undefined, 0, -2, -1)],
    ["good", "open", "bad"],
  );
  assert.deepEqual(
    [
      judged("covered", 0.9, 0.88, 0.92),
      judged("covered", 0.9, 0.8, 0.85),
      judged("covered", 0.9, 0.95, 0.99),
    ],
    ["good", "bad", "open"],
  );
  assert.deepEqual(
    [judged("sized", 1, 0.5, 1.5), judged("sized", 1, -0.5, 1.5), judged("sized", 1, -2, -1)],
    ["good", "open", "bad"],
  );
  assert.equal(judgementOf(null, 0, undefined), "open");
});
