import assert from "node:assert/strict";
import { test } from "node:test";
import { renderToString } from "preact-render-to-string";
import { type Chart, chart, columnsOf, extentsOf, keyOf, level, lineOf } from "./chart.ts";

const LINE: Chart = {
  x: "epochs",
  y: { unit: "number", title: "loss" },
  marks: [
    {
      kind: "line",
      shape: "line",
      points: lineOf([1, 2, 3], [0, Number.NaN, 1]),
      name: "loss",
      meaning: "a < b",
    },
    level(0.5),
    false,
  ],
};

const drawn = (one: Chart, within?: ReturnType<typeof extentsOf>) =>
  renderToString(chart(one, "Found\u202e.", within));

test("a chart is an image with its sentence as its name, marks on a grid, and what its script reads", () => {
  const svg = drawn(LINE);
  assert.match(
    svg,
    /^<svg class="chart titled" role="img" aria-label="Found\[U\+202E\]\." height="160" data-x="epoch" data-from="1" data-to="3"/,
  );
  assert.match(svg, /<path class="line" data-name="loss" d="M0 1000h0M1000 38h0">/, "a gap splits a line");
  assert.match(svg, /<path class="level" d="M0 519H1000">/, "an infinite end is the frame");
  assert.match(svg, /<text[^>]*>epoch 1<\/text>.*<text class="start" x="-50" y="-6">loss<\/text>/s);
  assert.match(
    renderToString(keyOf(LINE.marks) || null!),
    /^<ul class="key"><li><svg.*<\/svg>a &lt; b<\/li><\/ul>$/,
  );
});

test("charts side by side share a scale", () => {
  const larger = { ...LINE, marks: [level(9)] };
  const within = { x: [], y: [LINE, larger].flatMap((one) => extentsOf(one).y) };
  assert.match(drawn(LINE, within), /data-low="0" data-high="9\.36"/);
});

test("rows have their names, shortened ones the whole name as a tooltip", () => {
  const names = ["AAPL", `<A>${"B".repeat(20)}`];
  const svg = drawn({ x: { unit: "ic" }, y: { names }, marks: [] });
  assert.match(svg, /^<svg class="chart rows few"/);
  assert.match(svg, /<text class="y" x="-6" y="25%">AAPL<\/text>/);
  assert.match(svg, /<title>&lt;A>B{20}<\/title>&lt;A>B{11}…<\/text>/);
});

test("charts of values beyond any scale have paths of whole numbers", () => {
  for (const pair of [
    [-1e308, 1e308],
    [0, 5e-324],
    [1e-310, 1e-310],
    [7, 7],
  ]) {
    const bars = {
      x: { names: ["a", "b"] },
      y: { unit: "number" },
      marks: [columnsOf("bar", pair, { meaning: "" })],
    } as const;
    const line = { ...LINE, marks: [{ kind: "line", shape: "line", points: lineOf([1, 2], pair) }] } as const;
    for (const svg of [drawn(bars), drawn(line)]) assert.doesNotMatch(svg, /NaN|Infinity|undefined|null/);
  }
});
