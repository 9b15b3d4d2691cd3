import assert from "node:assert/strict";
import { test } from "node:test";
import { visibleLines, visibleText } from "./visible-text.ts";

test("text on one line shows every character that is not displayed", () => {
  assert.equal(visibleText(" a\u202e\nb  c\t"), "[U+0020]a[U+202E][U+000A]b [U+0020]c[U+0009]");
});

test("lines keep their breaks, indents and spaces, and nothing else that is not displayed", () => {
  assert.equal(visibleLines("{\r\n\t  a:  1 \n}"), "{\n\t  a:  1 \n}");
  assert.equal(visibleLines("a\u200b\u00a0\rb\u2028"), "a[U+200B][U+00A0][U+000D]b[U+2028]");
});
