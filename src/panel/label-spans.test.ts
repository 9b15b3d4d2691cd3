import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MAX_GAP_DAYS } from "../contract/market/ticker-series.ts";
import { labelSpans, latestSpan, medianSpan, pooledSpans } from "./label-spans.ts";
import { NO_LABEL_DAY } from "./labels.ts";

/** Rows whose labels are known after this many days each; the last one has none. */
function rowsOf(spans: readonly number[]) {
  const days = new Int32Array(spans.length + 1);
  for (const [i, span] of spans.entries()) days[i + 1] = days[i]! + span;
  return { days, labelDays: days.map((_, i) => days[i + 1] ?? -1), fit: Int32Array.from(spans.keys()) };
}

const SPANS = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 40 });

test("the median span of all labels equals that of the sorted spans", () => {
  const property = fc.property(fc.array(SPANS, { minLength: 1, maxLength: 4 }), (tickers) => {
    const sorted = tickers.flat().sort((a, b) => a - b);
    const middle = [sorted[(sorted.length - 1) >> 1]!, sorted[sorted.length >> 1]!];
    const pooled = pooledSpans(tickers.map((spans) => labelSpans(rowsOf(spans))));
    assert.equal(medianSpan(pooled), (middle[0]! + middle[1]!) / 2);
  });
  fc.assert(property);
});

test("only fit rows count, and the median is null without any", () => {
  const rows = rowsOf([1, 1, 7, 7, 7]);
  assert.equal(medianSpan(labelSpans({ ...rows, fit: Int32Array.of(0, 1, 2) })), 1);
  assert.equal(medianSpan(labelSpans({ ...rows, fit: Int32Array.of() })), null);
  assert.equal(medianSpan(pooledSpans([])), null);
});

const latestOf = (spans: readonly number[]) => latestSpan(rowsOf(spans));
const times = (span: number, count: number): number[] => new Array(count).fill(span);

test("the latest span is the median of the last eleven labels before the last row, whatever came earlier", () => {
  const property = fc.property(SPANS, SPANS, (early, late) => {
    const last = [...early, ...late].slice(-11).sort((a, b) => a - b);
    assert.equal(latestOf([...early, ...late]), last[(last.length - 1) >> 1]);
  });
  fc.assert(property);
});

test("detects prices that turn weekly after six weeks, and daily ones after six days", () => {
  assert.equal(latestOf([...times(1, 100), ...times(7, 5)]), 1);
  assert.equal(latestOf([...times(1, 100), ...times(7, 6)]), 7);
  assert.equal(latestOf([...times(7, 100), ...times(1, 6)]), 1);
});

test("closed markets around New Year do not change daily prices", () => {
  // Frankfurt from 2024-12-12: closed on 24, 25, 26 and 31 December and on 1 January.
  assert.equal(latestOf([...times(1, 50), 1, 3, 1, 1, 1, 1, 3, 4, 3, 3, 1]), 1);
});

test("a row before a gap without a label counts as longer than any label", () => {
  const rows = rowsOf([...times(1, 40), ...times(30, 6)]);
  const labelDays = rows.labelDays.map((day, i) => (day - rows.days[i]! > MAX_GAP_DAYS ? NO_LABEL_DAY : day));
  assert.equal(latestSpan({ ...rows, labelDays }), MAX_GAP_DAYS + 1);
});
