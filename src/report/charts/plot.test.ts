import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDay } from "../../contract/market/dates.ts";
import { escapeShortText, escapeText, rowName, timeLabels } from "./plot.ts";

test("markup is text", () => {
  assert.equal(escapeText(`<b a='1'>&"`), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;");
});

test("a character that is invisible, or reorders its neighbours, is shown by its number", () => {
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

test("spaces that a page would collapse are shown by their numbers, spaces between words are not", () => {
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

test("a shortened name of a row has the whole name as its tooltip", () => {
  assert.equal(rowName("AAPL", 0.25, 4), '<text class="y" x="-6" y="25%" dy=".35em">AAPL</text>');
  assert.equal(
    rowName("<A>BCDE", 0.5, 4, "o "),
    '<text class="y" x="-6" y="50%" dy=".35em"><title>&lt;A&gt;BCDE</title>o &lt;A&gt;…</text>',
  );
});

function labels(first: string, last: string): string[] {
  return timeLabels(parseDay(first)!, parseDay(last)!).map(({ text }) => text);
}

test("a time axis labels the starts of years, quarters or months, whichever are few", () => {
  assert.deepEqual(labels("2018-12-31", "2022-12-27"), ["2019", "2020", "2021", "2022"]);
  assert.deepEqual(labels("2021-02-10", "2022-02-10"), ["2021-04", "2021-07", "2021-10", "2022-01"]);
  assert.deepEqual(labels("2021-02-10", "2021-04-20"), ["2021-03", "2021-04"]);
  assert.deepEqual(labels("2021-01-01", "2021-04-20"), ["2021-01", "2021-02", "2021-03", "2021-04"]);
  assert.ok(labels("1900-01-01", "2020-01-01").length <= 6);
});

test("a span within a month has labels at its two ends, a single day one", () => {
  assert.deepEqual(labels("2021-02-03", "2021-02-20"), ["2021-02-03", "2021-02-20"]);
  assert.deepEqual(labels("2021-02-03", "2021-02-03"), ["2021-02-03"]);
});

test("labels are at the position of their day", () => {
  const [first, last] = [parseDay("2020-01-01")!, parseDay("2021-01-01")!];
  for (const { at, text } of timeLabels(first, last)) {
    assert.equal(first + at * (last - first), parseDay(`${text}-01`));
  }
});
