import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { settingsSchema } from "../contract/settings.ts";

test("every executor that the settings accept has a test file that runs the suite", () => {
  const tests = globSync("src/executors/**/*.test.ts").map((file) => readFileSync(file, "utf8"));
  const tried = tests.flatMap((text) =>
    [...text.matchAll(/^testExecutor\("([^"]+)"/gm)].map(([, name]) => name),
  );
  assert.deepEqual(tried.sort(), [...settingsSchema.shape.executor.unwrap().options].sort());
});
