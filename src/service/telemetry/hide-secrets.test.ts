import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { secretHider } from "./hide-secrets.ts";

const hide = secretHider([]);

test("user names, passwords and queries of URLs are hidden", () => {
  for (const [line, shown] of [
    ["at https://me:SECRET@a.example/c?sig=SECRET now", "at https://…@a.example/c?… now"],
    ['{"url":"postgres://me:SE@CRET@db/x?y=SECRET"}', '{"url":"postgres://…@db/x?…"}'],
    ["'https://a.example/c?x=SECRET'", "'https://a.example/c?…'"],
    ["https://a.example/c and s3://b/c", "https://a.example/c and s3://b/c"],
  ] as const) {
    assert.equal(hide(line), shown);
  }
});

test("the URLs of a line are hidden as two patterns do, in linear time", () => {
  const bySlowPatterns = (text: string) =>
    text
      .replace(/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s"\\<>]*@/gi, "$1…@")
      .replace(/\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'\\<>?]*)\?[^\s"'\\<>]*/gi, "$1?…");
  const part = fc.constantFrom("ab://", "https://", "a", "/", "@", "?", " ", '"', "<", ":");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const line = parts.join("");
      assert.equal(hide(line), bySlowPatterns(line));
    }),
  );
  // With these patterns it takes hours.
  const long = "ab://".repeat(2 ** 19);
  assert.equal(hide(long), long);
});

test("a value that a cut line does not end is hidden to the end of its string, in linear time", () => {
  for (const [text, shown] of [
    ['{"token":["SECRET', '{"token":…'],
    ['{"token":["SECRET"],"n":1}', '{"token":…,"n":1}'],
    ['{"password":"SECRET', '{"password":…'],
    ['{"a":"{\\"password\\":\\"SECRET', '{"a":"{\\"password\\":…'],
  ]) {
    assert.equal(hide(JSON.stringify({ line: text, n: 1 })), JSON.stringify({ line: shown, n: 1 }));
  }
  // With a pattern that requires the end, it takes a quarter of an hour.
  const long = JSON.stringify({ line: '"token":['.repeat(2 ** 17) });
  assert.equal(hide(long), JSON.stringify({ line: '"token":…' }));
});
