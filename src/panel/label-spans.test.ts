import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { labelSpans, medianSpan, pooledSpans } from "./label-spans.ts";

/** Rows whose labels come out after so many days each; the last one of all has none. */
function rowsOf(spans: readonly number[]) {
  const days = new Int32Array(spans.length + 1);
  for (const [i, span] of spans.entries()) days[i + 1] = days[i]! + span;
  return { days, labelDays: days.map((_, i) => days[i + 1] ?? -1), fit: Int32Array.from(spans.keys()) };
}

const SPANS = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 40 });

test("the median span of all labels is that of the sorted spans", () => {
  const property = fc.property(fc.array(SPANS, { minLength: 1, maxLength: 4 }), (tickers) => {
    const sorted = tickers.flat().sort((a, b) => a - b);
    const middle = [sorted[(sorted.length - 1) >> 1]!, sorted[sorted.length >> 1]!];
    const pooled = pooledSpans(tickers.map((spans) => labelSpans(rowsOf(spans))));
    assert.equal(medianSpan(pooled), (middle[0]! + middle[1]!) / 2);
  });
  fc.assert(property);
});

test("only rows to learn from count, and without any the median is null", () => {
  const rows = rowsOf([1, 1, 7, 7, 7]);
  assert.equal(medianSpan(labelSpans({ ...rows, fit: Int32Array.of(0, 1, 2) })), 1);
  assert.equal(medianSpan(labelSpans({ ...rows, fit: Int32Array.of() })), null);
  assert.equal(medianSpan(pooledSpans([])), null);
});
