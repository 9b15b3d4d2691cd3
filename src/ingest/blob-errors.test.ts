import assert from "node:assert/strict";
import { test } from "node:test";
import { quote } from "./blob-errors.ts";

test("a quoted name never starts a new line, for any program that reads it", () => {
  assert.equal(quote("A\u2028B\u2029\n\u0085\u202e"), '"A\\u2028B\\u2029\\n\\u0085\\u202e"');
});
