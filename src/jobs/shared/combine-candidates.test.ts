import assert from "node:assert/strict";
import { test } from "node:test";
import type { Failure } from "../../contract/problems/problem.ts";
import { CandidateFits } from "./combine-candidates.ts";

const failure = (ticker: string, code: Failure["code"]): Failure => ({
  ticker,
  code,
  message: `${ticker}: why`,
});

test("a ticker is lost with a process of the engine, not with an error of a candidate", () => {
  const fits = new CandidateFits<object>();
  for (const [label, failures] of [
    ["ridge", [failure("B", "fit_failed"), failure("C", "engine_crashed")]],
    ["lasso", [failure("A", "engine_crashed"), failure("C", "engine_crashed"), failure("D", "diverged")]],
  ] as const)
    fits.add({ label, settings: {} }, [], { failures, warnings: [] });
  assert.deepEqual(
    [...fits.lost().values()].map(({ ticker, message }) => [ticker, message]),
    [
      ["C", "C: why"],
      ["A", "candidate 1 (lasso): A: why"],
    ],
  );
});
