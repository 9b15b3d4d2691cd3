import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hasLateForecasts, joiningAt, latePanelAt } from "./late-ticker.ts";
import { type RefitBlock, rowsByBlock } from "./refit-blocks.ts";
import { buildTickerPanel, type TickerInput, type TickerPanel } from "./ticker-panel.ts";

const LENGTH = 100;
const CUT = 45;
const WINDOW = { start: 0, end: LENGTH - 1, learningEnd: CUT, cut: CUT };
const JOINS = 70;
const BLOCKS: RefitBlock[] = [
  { from: CUT, known: undefined },
  { from: JOINS, known: JOINS },
  { from: 85, known: 85 },
];

/** A ticker with 30 fit rows or more at the cut, in most cases, and gaps in its prices and features. */
const inputs = fc
  .record({
    prices: fc.array(
      fc.oneof(
        { arbitrary: fc.double({ min: 1, max: 2, noNaN: true }), weight: 12 },
        fc.constant(Number.NaN),
      ),
      {
        minLength: LENGTH,
        maxLength: LENGTH,
      },
    ),
    delay: fc.constantFrom(0, 0, 1, 3),
    values: fc.array(
      fc.oneof(
        { arbitrary: fc.double({ min: 1, max: 2, noNaN: true }), weight: 30 },
        fc.constant(Number.NaN),
      ),
      {
        minLength: LENGTH,
        maxLength: LENGTH,
      },
    ),
  })
  .map(({ prices, values, delay }): TickerInput => {
    const days = Int32Array.from({ length: LENGTH }, (_, day) => day);
    return {
      ticker: "A",
      prices: { ticker: "A", days, prices: Float64Array.from(prices) },
      features: { ticker: "A", days, columns: ["f"], values: Float64Array.from(values) },
      window: { ...WINDOW, delay },
    };
  });

function panelOf(input: TickerInput, cut: number): TickerPanel | undefined {
  try {
    return buildTickerPanel({ ...input, window: { ...input.window, cut } });
  } catch {
    return undefined;
  }
}

/** Everything that a network uses of a panel; it forecasts nothing before the ticker joins. */
function learnedOf({ days, x, y, fit, score }: TickerPanel) {
  return { days, x, y, fit, score: score.filter((row) => days[row]! >= JOINS) };
}

test("a ticker joins with the rows of a job whose cut is the date, whether it had fit rows at the cut or not", () => {
  let compared = 0;
  const property = fc.property(inputs, (input) => {
    const expected = panelOf(input, JOINS);
    const late = latePanelAt(input, JOINS, {});
    assert.equal(late === undefined, expected === undefined);
    if (expected === undefined) return;
    assert.equal(late!.joins, JOINS);
    assert.deepEqual(learnedOf(late!), learnedOf(expected));
    const early = panelOf(input, CUT);
    if (early === undefined) return;
    compared++;
    assert.deepEqual(learnedOf(joiningAt(early, JOINS)), learnedOf(expected));
    // A later block learns the same as a job with that cut, and forecasts the same rows.
    const [rows] = rowsByBlock([late!], BLOCKS, undefined)(2, 2);
    const after = panelOf(input, 85)!;
    assert.deepEqual(rows!.fit, after.fit);
    const dated = (panel: TickerPanel) => [...panel.score].filter((row) => panel.days[row]! >= 85);
    assert.deepEqual([...rows!.score], dated(after));
  });
  fc.assert(property, { seed: 5, numRuns: 200 });
  assert.ok(compared > 100, String(compared));
});

test("with a window, dates of a ticker that has not joined do not count", () => {
  const days = Int32Array.from({ length: LENGTH }, (_, day) => day);
  const panelWith = (ticker: string, isPriced: (day: number) => boolean) =>
    buildTickerPanel({
      ticker,
      prices: {
        ticker,
        days,
        prices: Float64Array.from(days, (day) => (isPriced(day) ? 1 + (day % 7) : Number.NaN)),
      },
      features: { ticker, days, columns: ["f"], values: new Float64Array(LENGTH).fill(1) },
      window: WINDOW,
    });
  const even = panelWith("A", (day) => day % 2 === 0 || day < 40);
  const every = joiningAt(
    panelWith("B", () => true),
    JOINS,
  );
  const alone = rowsByBlock([even], BLOCKS, 20);
  const beside = rowsByBlock([even, every], BLOCKS, 20);
  assert.deepEqual(beside(0, 0)[0]!.fit, alone(0, 0)[0]!.fit);
  assert.equal(beside(0, 0)[1]!.fit.length, 0);
  // From the block on that it joins, the last 20 label dates are successive days.
  assert.ok(beside(1, 1)[0]!.fit.length < alone(1, 1)[0]!.fit.length);
  assert.equal(beside(1, 1)[1]!.fit.length, 20);
});

test("a ticker that joins has something to forecast if it has a full window from then on", () => {
  const panel = {
    days: Int32Array.of(1, 2, 3),
    score: Int32Array.of(1, 2),
    joins: 3,
  } as unknown as TickerPanel;
  assert.equal(hasLateForecasts(panel, 3), true);
  assert.equal(hasLateForecasts(panel, 4), false);
  assert.equal(hasLateForecasts({ ...panel, joins: 4 }, 3), false);
  assert.equal(hasLateForecasts({ ...panel, score: new Int32Array(0) }, 1), false);
});
