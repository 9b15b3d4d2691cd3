import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperationView } from "../client/index.ts";
import { kindOf, runName, stageWords } from "./words.ts";

test("kinds and stages of a later service are shown unchanged, even names that every object has", () => {
  assert.deepEqual([kindOf("run_ml_job"), kindOf("constructor")], ["ML job", "constructor"]);
  assert.deepEqual(
    [stageWords("read"), stageWords("__proto__"), stageWords("a\u202eb")],
    ["Read inputs", "__proto__", "a[U+202E]b"],
  );
});

test("a run is called by its model and its tags, and a check by its kind", () => {
  const name = (run: Partial<OperationView>) => runName({ operation: "run_ml_job", ...run } as OperationView);
  assert.equal(name({ model: "ridge", tags: ["nightly", "a=1"] }), "ridge (nightly, a=1)");
  assert.equal(name({ model: "ridge", operation: "audit" }), "Audit of ridge");
  assert.equal(name({ operation: "replay" }), "Replay");
  assert.equal(name({ model: "\u202ex" }), "[U+202E]x");
});
