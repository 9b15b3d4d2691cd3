import assert from "node:assert/strict";
import { test } from "node:test";
import { renderToString } from "preact-render-to-string";
import { bdi, bytes, duration } from "./text.ts";

test("a time span is written in its two largest units", () => {
  for (const [milliseconds, words] of [
    [-5, "0.0 s"],
    [440, "0.4 s"],
    [9_940, "9.9 s"],
    [59_400, "59 s"],
    [59_600, "1 min"],
    [185_000, "3 min 5 s"],
    [3_600_000, "1 h"],
    [7_380_000, "2 h 3 min"],
    [93_600_000, "1 d 2 h"],
  ] as const)
    assert.equal(duration(milliseconds), words);
});

test("bytes are written in a decimal unit", () => {
  assert.deepEqual([0, 999, 1_234, 56_789_000, 7e15].map(bytes), [
    "0 bytes",
    "999 bytes",
    "1.23 kB",
    "56.8 MB",
    "7.00e+3 TB",
  ]);
});

test("untrusted text is text, and invisible or reordering characters and spaces are shown by their numbers", () => {
  const shown = (text: string, most?: number) => renderToString(bdi(text, most));
  assert.equal(shown("<b a='1'>&\""), "<bdi>&lt;b a='1'>&amp;&quot;</bdi>");
  for (const mark of [
    "\u0000",
    "\n",
    "\u00ad",
    "\u200b",
    "\u2028",
    "\u202e",
    "\u3164",
    "\ufe0f",
    "\ufeff",
    "\ud800",
    "\u{e0041}",
  ]) {
    const number = mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    assert.equal(shown(`a${mark}b`), `<bdi>a[U+${number}]b</bdi>`);
  }
  assert.equal(shown(" A "), "<bdi>[U+0020]A[U+0020]</bdi>");
  assert.equal(shown("🦄🦄🦄🦄🦄", 4), '<bdi title="🦄🦄🦄🦄🦄">🦄🦄🦄…</bdi>');
  assert.equal(shown("<<<<<", 3), '<bdi title="&lt;&lt;&lt;&lt;&lt;">&lt;&lt;…</bdi>');
});
