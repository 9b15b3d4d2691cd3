import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf } from "./payload-form.ts";

test("in one form a text has one key, another text another, and another form others", () => {
  const texts = ["{}", "{ }", '{"a":1}', '{"a":2}'];
  const keys = texts.map((text) => keyOf("n", text));
  assert.equal(new Set(keys).size, texts.length);
  assert.equal(keyOf("n", texts[0]!), keys[0]);
  assert.notEqual(keyOf("m", texts[0]!), keys[0]);
});
