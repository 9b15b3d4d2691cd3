import assert from "node:assert/strict";
import { test } from "node:test";
import { KnownTokens } from "./authorize-request.ts";

test("a new token replaces the one that was good longest ago, and the operator's token stays", () => {
  const known = new KnownTokens("operator", 2);
  known.add("a", "key:a");
  known.add("b", "key:b");
  known.add("a", "key:a");
  known.add("c", "key:c");
  assert.deepEqual(
    ["a", "b", "c"].map((token) => known.subjectOf(token)),
    ["key:a", undefined, "key:c"],
  );
  assert.equal(known.subjectOf("operator"), "local");
  known.remove("c");
  assert.equal(known.subjectOf("c"), undefined);
});
