import assert from "node:assert/strict";
import { test } from "node:test";
import { readOutput } from "../../client/read-output.ts";
import { dlText, mlText, outputDocument } from "../../outputs/outputs.testing.ts";
import { isNear, slowBandQuantile } from "../statistics/dated-rows.testing.ts";
import { heldOutSlope } from "./held-out-slope.ts";

type Json = { metrics: { shrinkage: { by_date?: unknown } }; verdict?: unknown };

/** The slope of an output after `change` has removed a part of it. */
function slopeOf(text: string, change: (output: Json) => void = () => undefined) {
  const output = JSON.parse(text) as Json;
  change(output);
  return heldOutSlope(outputDocument("o", "", readOutput(output)));
}

const WITHOUT_BY_DATE = (output: Json) => {
  delete output.metrics.shrinkage.by_date;
  delete output.verdict;
};

test("the slope and its band equal the output's by dates, over its held-out dates", () => {
  for (const [text, dates] of [
    [mlText({ folds: 4, skill: 0.1 }), 80],
    [dlText({ skill: 0.1, fitRows: 300 }), undefined],
  ] as const) {
    const { metrics, verdict } = readOutput(JSON.parse(text));
    const { b, se } = metrics.shrinkage!.by_date!;
    const counted = verdict!.judged.find(({ rows }) => rows !== "score")!.sizes.dates;
    if (dates !== undefined) assert.equal(counted, dates);
    const { value, band } = slopeOf(text);
    assert.equal(value, b);
    const half = slowBandQuantile(counted) * se!;
    assert.ok(isNear(band!.low, b! - half) && isNear(band!.high, b! + half));
  }
});

test("for an older output it is computed from its out-of-fold rows", () => {
  const text = mlText({ folds: 4, skill: 0.1 });
  assert.deepEqual(slopeOf(text, WITHOUT_BY_DATE), slopeOf(text));
});

test("an older output of networks has a slope over rows, and no band", () => {
  const text = dlText({ skill: 0.1, fitRows: 300 });
  const { b } = readOutput(JSON.parse(text)).metrics.shrinkage!.pooled;
  assert.deepEqual(slopeOf(text, WITHOUT_BY_DATE), { value: b, band: null });
});

test("fewer than 30 held-out dates have no band", () => {
  assert.equal(slopeOf(mlText({ folds: 1, skill: 0.1 })).band, null);
});
