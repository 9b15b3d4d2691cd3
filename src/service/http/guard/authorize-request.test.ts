import assert from "node:assert/strict";
import { test } from "node:test";
import { KnownTokens } from "./authorize-request.ts";

test("of more tokens than are remembered, those go that were good longest ago", () => {
  const known = new KnownTokens("operator", 2);
  known.remember("a", "key:a");
  known.remember("b", "key:b");
  known.remember("a", "key:a");
  known.remember("c", "key:c");
  assert.deepEqual(
    ["a", "b", "c"].map((token) => known.subjectOf(token)),
    ["key:a", undefined, "key:c"],
  );
  assert.equal(known.subjectOf("operator"), "local");
  known.forget("c");
  assert.equal(known.subjectOf("c"), undefined);
});
