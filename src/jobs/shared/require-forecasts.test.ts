import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { requireForecasts } from "./require-forecasts.ts";

/** The error of a job in which every ticker has failed. */
function errorOf(failures: readonly Failure[]): MucastError {
  try {
    requireForecasts([], failures, { asOf: 0, unused: () => [] });
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
  return assert.fail("the job has no ticker");
}

test("a job without tickers fails as insufficient_history if that is every reason, else as all_failed with the reasons", () => {
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

test("a job fails as sparse_prices if every ticker with enough prices has them too far apart", () => {
  const sparse = { ticker: "A", code: "sparse_prices", message: "A has prices 31 calendar days apart" };
  const short = { ticker: "B", code: "insufficient_history", message: "B has 1 fit row" };
  const { code, message } = errorOf([short, sparse]);
  assert.equal(code, "sparse_prices");
  assert.equal(message, "All 2 tickers failed; for example, A has prices 31 calendar days apart");
});

test("a job that lost every ticker to its engine fails as engine_crashed, and does not blame its inputs", () => {
  const crashed = { ticker: "A", code: "engine_crashed", message: "the engine was ended by SIGKILL" };
  const short = { ticker: "B", code: "insufficient_history", message: "B has 1 fit row" };
  assert.equal(errorOf([crashed, short]).code, "engine_crashed");
  const singular = { ticker: "C", code: "fit_failed", message: "singular" };
  assert.equal(errorOf([crashed, singular]).code, "all_failed");
});
