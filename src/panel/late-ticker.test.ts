import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { joinLateTicker } from "./late-ticker.ts";
import { firstBlock, type RefitBlock, tickerBlocks } from "./refit-blocks.ts";
import { buildTickerPanel, MIN_FIT_ROWS, type TickerInput } from "./ticker-panel.ts";

const LENGTH = 90;
const CUT = 20;
const WINDOW = { start: 0, end: LENGTH - 1, learningEnd: CUT, cut: CUT };
const BLOCKS: RefitBlock[] = [
  { from: CUT, known: undefined },
  ...[30, 41, 52, 63, 74].map((day) => ({ from: day, known: day })),
];

/** Numbers of which one in about `weight` is missing. */
function listOf(length: number, weight: number): fc.Arbitrary<number[]> {
  const present = { arbitrary: fc.double({ min: 1, max: 2, noNaN: true }), weight };
  return fc.array(fc.oneof(present, fc.constant(Number.NaN)), { minLength: length, maxLength: length });
}

/** A ticker that begins after the cut, or has few rows before it, with gaps and missing values. */
const inputs = fc
  .record({
    first: fc.integer({ min: 5, max: 50 }),
    prices: listOf(LENGTH, 12),
    values: listOf(2 * LENGTH, 60),
    slow: fc.integer({ min: 0, max: 60 }),
  })
  .map(({ first, prices, values, slow }): TickerInput => {
    const days = Int32Array.from({ length: LENGTH }, (_, day) => day);
    const features = Float64Array.from(values, (value, i) =>
      i < LENGTH || i - LENGTH >= slow ? value : Number.NaN,
    );
    return {
      ticker: "A",
      prices: {
        ticker: "A",
        days,
        prices: Float64Array.from(prices, (p, day) => (day < first ? Number.NaN : p)),
      },
      features: { ticker: "A", days, columns: ["f", "g"], values: features },
      window: WINDOW,
    };
  });

/** The ticker with the values of both blobs lost after a date. */
function lostAfter(last: number, input: TickerInput): TickerInput {
  const kept = (values: Float64Array) => values.map((value, i) => (i % LENGTH > last ? Number.NaN : value));
  return {
    ...input,
    prices: { ...input.prices, prices: kept(input.prices.prices) },
    features: { ...input.features, values: kept(input.features.values) },
  };
}

function fitRows(input: TickerInput, cut: number) {
  try {
    return buildTickerPanel({ ...input, window: { ...WINDOW, cut } });
  } catch {
    return undefined;
  }
}

test("a late ticker joins at the first block that gives it enough rows, which are those of that cut", () => {
  let joined = 0;
  const property = fc.property(inputs, (input) => {
    const panel = joinLateTicker(input, BLOCKS, {});
    const block = BLOCKS.slice(1).find(({ from }) => fitRows(input, from) !== undefined);
    assert.equal(panel?.joins, block?.from);
    if (panel === undefined) return;
    joined++;
    const expected = fitRows(input, panel.joins!)!;
    assert.deepEqual(panel.columns, expected.columns);
    const days = (rows: Int32Array, from: { readonly days: Int32Array }) =>
      [...rows].map((row) => from.days[row]!);
    assert.deepEqual(days(panel.fit, panel), days(expected.fit, expected));
    assert.ok(panel.fit.length >= MIN_FIT_ROWS);
    assert.deepEqual(
      days(panel.score, panel),
      days(expected.score, expected).filter((day) => day >= panel.joins!),
    );
    const { blocks } = tickerBlocks(panel, BLOCKS);
    const first = firstBlock(panel, BLOCKS);
    for (const [b, { learnEnd, scoreStart, scoreEnd }] of blocks.entries()) {
      if (b < first) assert.deepEqual([learnEnd, scoreStart, scoreEnd], [0, 0, 0]);
    }
    assert.equal(blocks[first]!.learnEnd, panel.fit.length);
    assert.equal(blocks.at(-1)!.scoreEnd, panel.score.length);
  });
  fc.assert(property, { seed: 3, numRuns: 200 });
  assert.ok(joined > 50 && joined < 200, String(joined));
});

test("what comes after the date on which a ticker joins decides nothing about its fit rows", () => {
  const property = fc.property(inputs, (input) => {
    const panel = joinLateTicker(input, BLOCKS, {});
    if (panel === undefined) return;
    const lost = joinLateTicker(lostAfter(panel.joins!, input), BLOCKS, {})!;
    assert.equal(lost.joins, panel.joins);
    assert.deepEqual(lost.columns, panel.columns);
    assert.deepEqual(lost.fit, panel.fit);
    const learned = panel.fit.length * panel.columns.length;
    assert.deepEqual(lost.x.subarray(0, learned), panel.x.subarray(0, learned));
  });
  fc.assert(property, { seed: 4, numRuns: 200 });
});

test("a late ticker has no other features than it may have", () => {
  const days = Int32Array.from({ length: LENGTH }, (_, day) => day);
  const input: TickerInput = {
    ticker: "A",
    prices: {
      ticker: "A",
      days,
      prices: Float64Array.from(days, (day) => (day < 15 ? Number.NaN : 1 + day)),
    },
    features: {
      ticker: "A",
      days,
      columns: ["f", "g"],
      values: Float64Array.from({ length: 2 * LENGTH }, (_, i) => i),
    },
    window: WINDOW,
  };
  const panel = joinLateTicker(input, BLOCKS, {}, new Set(["g", "h"]))!;
  assert.deepEqual([panel.columns, panel.x[0]], [["g"], LENGTH + 15]);
  assert.equal(joinLateTicker(input, BLOCKS, {}, new Set(["h"])), undefined);
  const named = { ...input, features: { ...input.features, columns: ["f", "f (z)"] } };
  const cells = { numbers: new Map([["f", 0]]), first: 0, cells: LENGTH };
  const counts = { ...cells, counts: new Int32Array(LENGTH).fill(9) };
  const besideZScores = ({ x }: { readonly x: Float64Array }) => x;
  assert.deepEqual(joinLateTicker(named, BLOCKS, { counts, besideZScores })!.columns, ["f", "f (z)"]);
  assert.equal(joinLateTicker(named, BLOCKS, { counts, besideZScores })!.zScores, 1);
});
