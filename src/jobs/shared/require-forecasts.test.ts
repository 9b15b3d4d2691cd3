import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import { requireForecasts } from "./require-forecasts.ts";

/** The error of a job of which every ticker has failed. */
function errorOf(failures: readonly Failure[]): MucastError {
  try {
    requireForecasts([], failures, 0);
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
  return assert.fail("the job has no ticker");
}

test("no ticker left is too little history where that is every reason, else all_failed with the reasons", () => {
  const short = { ticker: "B", code: "insufficient_history", message: "12 fit rows" };
  const singular = { ticker: "A", code: "fit_failed", message: "singular" };
  assert.equal(errorOf([]).code, "insufficient_history");
  assert.match(errorOf([]).message, /No ticker is in both/);
  assert.equal(errorOf([short]).code, "insufficient_history");
  assert.equal(errorOf([singular]).code, "all_failed");
  const mixed = errorOf([short, singular]);
  assert.equal(mixed.code, "all_failed");
  assert.deepEqual(mixed.data.failures, [singular, short]);
});

test("prices too far apart end the job under that name where every ticker with enough of them has such", () => {
  const sparse = { ticker: "A", code: "sparse_prices", message: "A has prices 31 calendar days apart" };
  const short = { ticker: "B", code: "insufficient_history", message: "B has 1 fit row" };
  const { code, message } = errorOf([short, sparse]);
  assert.equal(code, "sparse_prices");
  assert.equal(message, "No ticker is left of 2; the first: A has prices 31 calendar days apart");
});

test("a job that lost every ticker with its engine ends as engine_crashed, and not as if its inputs were at fault", () => {
  const crashed = { ticker: "A", code: "engine_crashed", message: "the engine was ended by SIGKILL" };
  const short = { ticker: "B", code: "insufficient_history", message: "B has 1 fit row" };
  assert.equal(errorOf([crashed, short]).code, "engine_crashed");
  const singular = { ticker: "C", code: "fit_failed", message: "singular" };
  assert.equal(errorOf([crashed, singular]).code, "all_failed");
});
