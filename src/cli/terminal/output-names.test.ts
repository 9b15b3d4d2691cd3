import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputSummary } from "../../outputs/output-summary.ts";
import { outputNames } from "./output-names.ts";

const output = (alpha: number, ...tags: string[]) =>
  ({
    operation: "run_ml_job",
    model: { model: "ridge", model_params: { alpha }, n_splits: 5 },
    ...(tags.length > 0 && { tags }),
  }) as unknown as OutputSummary;

test("outputs are called by their model, by their tags if that is the same, and by settings that differ", () => {
  assert.deepEqual(outputNames([output(1, "a")]), ["ridge"]);
  assert.deepEqual(outputNames([output(1, "a"), output(2, "b")]), ["ridge (a)", "ridge (b)"]);
  assert.deepEqual(outputNames([output(1), output(2), output(2, "b")]), [
    "ridge alpha=1",
    "ridge alpha=2",
    "ridge (b)",
  ]);
  assert.deepEqual(outputNames([output(1), output(1)]), ["ridge", "ridge"]);
});
