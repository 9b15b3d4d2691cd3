import assert from "node:assert/strict";
import { test } from "node:test";
import { escapeShortText, escapeText } from "./escape-text.ts";

test("markup is text", () => {
  assert.equal(escapeText(`<b a='1'>&"`), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;");
});

test("what cannot be seen, or reorders its neighbours, is shown by its number", () => {
  const unseen = [
    "\u0000",
    "\n",
    "\u00ad",
    "\u061c",
    "\u200b",
    "\u200d",
    "\u200f",
    "\u2028",
    "\u202e",
    "\u2066",
    "\u2069",
    "\u3164",
    "\ufe0f",
    "\ufeff",
    "\ud800",
    "\u{e0041}",
  ];
  for (const mark of unseen) {
    const number = mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    assert.equal(escapeText(`a${mark}b`), `a[U+${number}]b`);
  }
  assert.equal(escapeText("−0.1 % Ä 株 ע"), "−0.1 % Ä 株 ע");
});

test("spaces that a page would leave out are shown by their numbers, those between words are not", () => {
  for (const [name, shown] of [
    [" ", "[U+0020]"],
    ["\u00a0\u00a0", "[U+00A0][U+00A0]"],
    [" A ", "[U+0020]A[U+0020]"],
    ["B  C", "B [U+0020]C"],
    ["BRK B", "BRK B"],
    ["0.1\u202f% of it", "0.1\u202f% of it"],
  ] as const)
    assert.equal(escapeText(name), shown);
});

test("a long text is cut between characters, never within one, and before it is escaped", () => {
  assert.equal(escapeShortText("🦄🦄🦄🦄", 4), "🦄🦄🦄🦄");
  assert.equal(escapeShortText("🦄🦄🦄🦄🦄", 4), "🦄🦄🦄…");
  assert.equal(escapeShortText("<<<<<", 3), "&lt;&lt;…");
});
