import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import { isWild, type SizedForecasts } from "./wild-forecast.ts";

const random = seededRandom(8);

/** Values with exactly that deviation (ddof 0) around 0. */
function draws(n: number, deviation: number): Float64Array {
  const values = Float64Array.from({ length: n }, () => random.normal());
  const mean = values.reduce((a, b) => a + b) / n;
  const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
  return values.map((value) => ((value - mean) / Math.sqrt(square)) * deviation);
}

const UNIT = 0.01;
const LABELS = draws(300, UNIT);

/** Forecasts, and labels that are `slope` times them plus orthogonal noise. */
function heldOut(deviation: number, slope: number) {
  const predicted = draws(200, deviation);
  const noise = draws(200, UNIT);
  const sum = (values: Float64Array) => values.reduce((a, b) => a + b, 0);
  const along = sum(noise.map((e, i) => e * predicted[i]!)) / sum(predicted.map((p) => p * p));
  return {
    predicted,
    realised: predicted.map((p, i) => slope * p + (noise[i]! - along * p)),
  };
}

const sized = (more: Partial<SizedForecasts>): SizedForecasts => ({
  fitLabels: LABELS,
  heldOut: heldOut(0.3 * UNIT, 1),
  score: draws(100, 0.3 * UNIT),
  mu: 0.5 * UNIT,
  ...more,
});

test("forecasts of a believable size are not wild", () => {
  assert.equal(isWild(sized({})), false);
  assert.equal(isWild(sized({ mu: undefined })), false);
});

test("out-of-sample forecasts are wild if they spread too far and their slope is too low", () => {
  assert.equal(isWild(sized({ heldOut: heldOut(0.51 * UNIT, 0.49) })), true);
  assert.equal(isWild(sized({ heldOut: heldOut(0.51 * UNIT, 0.51) })), false);
  assert.equal(isWild(sized({ heldOut: heldOut(0.49 * UNIT, 0.49) })), false);
});

test("forecasts of score rows are wild if they spread too far, and much further than the tested ones", () => {
  const tested = heldOut(0.2 * UNIT, 1);
  assert.equal(isWild(sized({ heldOut: tested, score: draws(20, 0.61 * UNIT) })), true);
  assert.equal(isWild(sized({ heldOut: tested, score: draws(19, 0.61 * UNIT) })), false);
  assert.equal(isWild(sized({ heldOut: tested, score: draws(20, 0.59 * UNIT) })), false);
  const calm = heldOut(0.1 * UNIT, 1);
  assert.equal(isWild(sized({ heldOut: calm, score: draws(20, 0.49 * UNIT) })), false);
  assert.equal(isWild(sized({ heldOut: calm, score: draws(20, 0.51 * UNIT) })), true);
});

test("mu is wild above two deviations of the labels, and above one if the slope is low or missing", () => {
  for (const sign of [1, -1]) {
    assert.equal(isWild(sized({ mu: 2.01 * UNIT * sign })), true);
    assert.equal(isWild(sized({ mu: 1.99 * UNIT * sign })), false);
    const low = heldOut(0.3 * UNIT, 0.49);
    assert.equal(isWild(sized({ heldOut: low, mu: 1.01 * UNIT * sign })), true);
    assert.equal(isWild(sized({ heldOut: low, mu: 0.99 * UNIT * sign })), false);
    const none = { realised: new Float64Array(), predicted: new Float64Array() };
    assert.equal(isWild(sized({ heldOut: none, mu: 1.01 * UNIT * sign })), true);
    assert.equal(isWild(sized({ heldOut: none, mu: 0.99 * UNIT * sign })), false);
  }
});

test("a ticker whose forecasts are all 0 is not wild", () => {
  const zeros = { realised: draws(50, UNIT), predicted: new Float64Array(50) };
  assert.equal(isWild({ fitLabels: LABELS, heldOut: zeros, score: new Float64Array(), mu: 0 }), false);
});
