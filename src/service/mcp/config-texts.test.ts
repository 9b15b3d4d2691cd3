import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { memberTexts, withConfigTexts } from "./config-texts.ts";

test("every member of a document is found with its own text", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(4), (document, indent) => {
      const text = JSON.stringify(document, null, indent);
      const texts = memberTexts(text);
      for (const [key, value] of Object.entries(document)) {
        assert.deepEqual(JSON.parse(texts.get(key)!), JSON.parse(JSON.stringify(value)));
      }
    }),
  );
});

test("a member has the text as written, and the last one of a repeated key counts", () => {
  const text = '{ "a" : [1.0, 2e3 ] , "b":{"a": -0.0}, "\\u0061": {"x":1152921504606846977 } }';
  assert.equal(memberTexts(text).get("a"), '{"x":1152921504606846977 }');
  assert.equal(memberTexts(text).get("b"), '{"a": -0.0}');
  assert.equal(memberTexts(text).get("c"), undefined);
  assert.equal(memberTexts("{}").size, 0);
});

test("a member of millions of escapes has its text", () => {
  const escapes = `"${'\\\\\\"'.repeat(2_400_000)}"`;
  assert.ok(memberTexts(`{"a":${escapes},"b":1.0}`).get("a") === escapes);
});

test("only the config of a tool call becomes text", () => {
  const call =
    '{"method":"tools/call","params":{"name":"run_ml_job","arguments":{"config":{"a":1.0},"b":2}}}';
  const args = { config: '{"a":1.0}', b: 2 };
  const expected = { method: "tools/call", params: { name: "run_ml_job", arguments: args } };
  assert.deepEqual(withConfigTexts(call), expected);
  const other = '{"method":"other","params":{"arguments":{"config":{"a":1.0}}}}';
  for (const text of [other, "null", "3", '{"method":"tools/call"}', '{"method":"tools/call","params":[]}']) {
    assert.deepEqual(withConfigTexts(text), JSON.parse(text));
  }
});

test("deeply nested parts are left out, except in the config", () => {
  const [opened, closed] = ["[".repeat(50_000), "]".repeat(50_000)];
  const config = `{"a":${opened}${closed}}`;
  const args = `{"config":${config},"id":${opened}${closed},"b":{"c":[1.5]},"__proto__":{"d":1}}`;
  const call = withConfigTexts(`{"method":"tools/call","params":{"arguments":${args}}}`);
  const sent = (call as { params: { arguments: Record<string, unknown> } }).params.arguments;
  assert.equal(sent.config, config);
  assert.deepEqual(sent.b, { c: [1.5] });
  assert.deepEqual(Object.keys(sent), ["config", "id", "b", "__proto__"]);
  assert.match(JSON.stringify(sent.id), /^\[{2,64}\]{2,64}$/);
});
