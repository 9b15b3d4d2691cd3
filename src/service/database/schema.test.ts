import assert from "node:assert/strict";
import { test } from "node:test";
import { MIGRATIONS } from "./schema.ts";

test("no step removes or renames a table or a column that services of the version before use", () => {
  const steps = MIGRATIONS.flat();
  assert.deepEqual(
    steps.filter((step) => /\bdrop (table|column)\b|\brename\b/i.test(step)),
    [],
  );
});
