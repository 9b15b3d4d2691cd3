import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestName } from "./nearest-name.ts";

const KEYS = ["model", "model_params", "cv_test_size", "n_splits", "intervals", "scaler"];

test("a misspelt name gets the nearest key", () => {
  const slips = {
    modle: "model",
    n_split: "n_splits",
    "CV test size": "cv_test_size",
    interval: "intervals",
  };
  for (const [slip, key] of Object.entries(slips)) assert.equal(nearestName(slip, KEYS), key);
});

test("a name that is not close to a known one gets no suggestion", () => {
  assert.equal(nearestName("learning_rate", KEYS), undefined);
  assert.equal(nearestName("x", []), undefined);
  // Only the beginning of a long name is compared.
  assert.equal(nearestName("x".repeat(9_000), KEYS), undefined);
});
