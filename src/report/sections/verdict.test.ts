import assert from "node:assert/strict";
import { test } from "node:test";
import { mlText } from "../../outputs/outputs.testing.ts";
import { page } from "../page.ts";
import { reported } from "../reported.testing.ts";
import { chipsOf } from "./verdict.ts";
import { judgementOf } from "./verdict-tiles.ts";

test("a chip has the sentences of its part", () => {
  const chips = chipsOf([
    "No skill on the score rows.",
    "Order: none.",
    "Sizes: none.",
    "Intervals: hold.",
    "Adaptive intervals reach the share.",
  ]);
  assert.deepEqual(chips, [
    ["Order", ["Order: none."]],
    ["Sizes", ["Sizes: none."]],
    ["Intervals", ["Intervals: hold.", "Adaptive intervals reach the share."]],
  ]);
  assert.deepEqual(chipsOf(["The output has no ticker with a forecast."]), []);
});

test("what is worse than zero is bad, and never good", () => {
  const html = page(reported(mlText({ scoreRows: 700, config: { intervals: {} } })));
  const chips = [...html.matchAll(/<li class="chip (\w+)">.*?<b>(\w+)<\/b>/gs)].map(([, kind, part]) => [
    part,
    kind,
  ]);
  assert.deepEqual(chips, [
    ["Order", "none"],
    ["Sizes", "bad"],
    ["Intervals", "good"],
  ]);
  assert.match(html, /<li class="bad"><p class="name">R²</);
});

test("a figure is good or bad only if its band says so", () => {
  const judged = (aim: "above" | "covered" | "sized", at: number, low: number, high: number) =>
    judgementOf({
      name: "",
      ...{ unit: "t", percent: 95 },
      value: (low + high) / 2,
      band: { low, high },
      aim,
      reference: { name: "", value: at },
    });
  assert.deepEqual(
    [judged("above", 0, 1, 2), judged("above", 0, -1, 1), judged("above", 0, -2, -1)],
    ["good", "open", "bad"],
  );
  assert.deepEqual([judged("covered", 0.9, 0.88, 0.92), judged("covered", 0.9, 0.8, 0.85)], ["good", "bad"]);
  assert.equal(judged("covered", 0.9, 0.95, 0.99), "open");
  assert.deepEqual(
    [judged("sized", 1, 0.5, 1.5), judged("sized", 1, -0.5, 1.5), judged("sized", 1, -2, -1)],
    ["good", "open", "bad"],
  );
  assert.equal(
    judgementOf({
      name: "",
      ...{ unit: "t", percent: 95 },
      value: 1,
      band: null,
      aim: "above",
      reference: { name: "", value: 0 },
    }),
    "open",
  );
});
