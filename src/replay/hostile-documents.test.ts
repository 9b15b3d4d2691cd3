import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../contract/errors/errors.ts";
import { compareTexts, withFile } from "./documents.testing.ts";

test("a text that is not a single JSON object is refused", async () => {
  for (const text of [
    "",
    " ",
    "[]",
    "1",
    '"x"',
    "{",
    '{"a":1',
    '{"a":"x',
    '{"a":"x\\"}',
    "{}}",
    "{}{}",
    "{} x",
    '{"a":[}',
    '{"a":1 2}',
    '{"a":tr\nue}',
    '{"a":- 1}',
    `{"a":${"[".repeat(100)}${"]".repeat(100)}}`,
    `\uFEFF{}`,
  ]) {
    await assert.rejects(
      withFile(text, async () => undefined),
      (error) => {
        assert.ok(error instanceof MucastError, text);
        assert.equal(error.code, "unreadable_blob", text);
        return true;
      },
    );
  }
});

test("an object whose members cannot be distinguished is refused", async () => {
  for (const text of [
    '{"a":}',
    '{"a":,"b":1}',
    '{"a"}',
    '{"a","b":1}',
    "{,}",
    '{"a":1,}',
    '{,"a":1}',
    "{1:2}",
    '{"a":1,"a":2}',
    '{"a\nb":1}',
  ]) {
    await assert.rejects(
      withFile(text, async () => undefined),
      { code: "unreadable_blob" },
      text,
    );
  }
});

test("a value that is not JSON is refused when it is read", async () => {
  for (const value of ["nul", "01", "NaN", '"\\x"', "[1,,2]", "{1}"]) {
    await assert.rejects(compareTexts(`{"mu":${value}}`, '{"mu":1}'), { code: "unreadable_blob" }, value);
  }
});

test("tickers with names of JavaScript's own members are compared like others", async () => {
  const mu = (value: number) => `{"mu":{"__proto__":${value},"constructor":1,"toString":2}}`;
  const same = await compareTexts(mu(1), mu(1));
  assert.equal(same.differences.total, 0);
  const { differences } = await compareTexts(mu(1), mu(2));
  assert.deepEqual(differences.summary()?.first.path, "mu.__proto__");
});

test("brackets, quotes and escapes in texts are text", async () => {
  const text = JSON.stringify({ mu: { 'a"]}{[\\': 1, "é\u2028": '}{\\"' } });
  for (let bytes = 1; bytes < 8; bytes++) {
    await withFile(
      text,
      async (file) => {
        const mu = file.members.get("mu")!;
        assert.deepEqual(await file.parse(mu), JSON.parse(text).mu);
        assert.deepEqual([...(await file.membersOf(mu)).keys()], Object.keys(JSON.parse(text).mu));
      },
      bytes,
    );
  }
});
