import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MucastError } from "../errors/errors.ts";
import { jsonBytes } from "../json/bounded-json.ts";
import { SIZES } from "../schema/answer-limits.ts";
import { boundedProblem, problemOf } from "./problem.ts";

function failuresOf(count: number, length: number, unit = "x") {
  return Array.from({ length: count }, (_, i) => ({
    ticker: `${i}${unit.repeat(length)}`,
    code: i % 3 === 0 ? "fit_failed" : "insufficient_history",
    message: `${i}${unit.repeat(3 * length)} has 1 row`,
  }));
}

test("lists the first 200 of many failures, and counts all by code", () => {
  const failures = failuresOf(100_000, 2);
  const problem = problemOf(
    new MucastError("all_failed", "No ticker is left", { failures, as_of: "2024-01-02" }),
  );
  const listed = problem.failures as typeof failures;
  assert.equal(listed.length, 200);
  assert.deepEqual(listed, failures.slice(0, 200));
  assert.deepEqual(problem.failure_counts, { fit_failed: 33_334, insufficient_history: 66_666 });
  assert.equal(problem.as_of, "2024-01-02");
  assert.deepEqual(boundedProblem(problem), problem);
});

test("a problem is never larger than SIZES.problem", () => {
  const unit = fc.constantFrom("x", "\u0001", "😀", '"', "\ud800");
  fc.assert(
    fc.property(unit, fc.nat(2_000), fc.nat(900), fc.nat(30_000), (mark, count, length, said) => {
      const problem = problemOf(
        new MucastError("all_failed", mark.repeat(said), {
          path: mark.repeat(said),
          value: { [mark.repeat(length)]: Array(count).fill([mark]) },
          accepted: Array(count).fill(mark.repeat(length)),
          failures: failuresOf(count, length, mark),
        }),
      );
      assert.ok(jsonBytes(problem) <= SIZES.problem, `${jsonBytes(problem)}`);
      assert.equal(
        Object.values(problem.failure_counts as object).reduce((a, b) => a + b, 0),
        count,
      );
      assert.deepEqual(boundedProblem(problem), problem);
    }),
    { numRuns: 60 },
  );
});
