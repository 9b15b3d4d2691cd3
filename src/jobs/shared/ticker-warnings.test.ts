import assert from "node:assert/strict";
import { test } from "node:test";
import { constantWarning } from "./ticker-warnings.ts";

const CONSTANT = { value: 0.25, train_rows: 40 };

test("names the largest alpha that keeps a coefficient, without calling alpha the cause", () => {
  // With a much smaller alpha, the coefficients exist and the score rows have the same features.
  const { message } = constantWarning("AAA", { ...CONSTANT, largest_alpha: 0.001 });
  assert.equal(
    message,
    "AAA: the model predicts 0.25 for every score row. An alpha below 0.001 keeps a coefficient, and none is kept from there on.",
  );
});

test("does not mention alpha if no alpha removes all coefficients", () => {
  // An l1_ratio of 0 leaves coefficients above zero at any alpha.
  const { message } = constantWarning("AAA", { ...CONSTANT, largest_alpha: null });
  assert.equal(message, "AAA: the model predicts 0.25 for every score row.");
});

test("names min_child_samples with the number of training rows", () => {
  const warning = constantWarning("AAA", { ...CONSTANT, min_child_samples: 50 });
  assert.match(warning.message, /min_child_samples is 50 and there are 40 training rows/);
  assert.deepEqual([warning.code, warning.ticker], ["constant_predictions", "AAA"]);
});

test("names the loss of a network whose forecasts were scaled to 0", () => {
  const { message } = constantWarning("AAA", { value: 0, prediction_scale: 0 });
  assert.match(
    message,
    /^AAA: the model predicts 0 for every score row\. The loss directional leaves the size/,
  );
  assert.doesNotMatch(constantWarning("AAA", { value: 0.1, prediction_scale: 0.5 }).message, /directional/);
});
