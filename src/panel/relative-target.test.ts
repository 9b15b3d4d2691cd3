import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ascending, finished, type RandomPanel, randomPanels } from "./panels.testing.ts";
import { MAX_TARGET, MIN_DATE_TICKERS, relativeTargets } from "./relative-target.ts";

const CUT = 40;
const panels = randomPanels(50, CUT);

/** The target of one row, looked up among all rows of all tickers. */
function slowTarget(all: readonly RandomPanel[], panel: RandomPanel, row: number): number {
  const labels = ascending(all)
    .flatMap((other) =>
      [...other.fit]
        .filter((r) => other.days[r] === panel.days[row] && other.labelDays[r]! <= panel.labelDays[row]!)
        .map((r) => ({ known: other.labelDays[r]!, y: other.y[r]! })),
    )
    .sort((a, b) => a.known - b.known);
  if (labels.length < MIN_DATE_TICKERS) return Number.NaN;
  let sum = 0;
  for (const { y } of labels) sum += y;
  const target = (panel.y[row]! - sum / labels.length) / panel.volatility[row]!;
  return Number.isFinite(target) ? Math.max(-MAX_TARGET, Math.min(MAX_TARGET, target)) : Number.NaN;
}

test("targets, levels and thin dates are those of a slow search", () => {
  const property = fc.property(panels, fc.integer({ min: 0, max: 50 }), (all, day) => {
    const { byTicker, levels, thinDates } = finished(relativeTargets(all));
    const learned: { known: number; y: number }[] = [];
    const counts = new Map<number, number>();
    for (const panel of all) {
      const fit = new Set(panel.fit);
      for (const [row, date] of panel.days.entries()) {
        const expected = fit.has(row) ? slowTarget(all, panel, row) : Number.NaN;
        assert.equal(byTicker.get(panel.ticker)![row], expected);
        if (!Number.isNaN(expected)) learned.push({ known: panel.labelDays[row]!, y: panel.y[row]! });
        if (fit.has(row)) counts.set(date, (counts.get(date) ?? 0) + 1);
      }
    }
    assert.equal(thinDates, [...counts.values()].filter((count) => count < MIN_DATE_TICKERS).length);
    const mean = (rows: typeof learned) => rows.reduce((sum, { y }) => sum + y, 0) / rows.length;
    assertClose(levels.final, mean(learned));
    assertClose(levels.knownAt(day), mean(learned.filter(({ known }) => known <= day)));
  });
  fc.assert(property, { seed: 2, numRuns: 60 });
});

test("the order of the tickers changes no bit", () => {
  const property = fc.property(panels, fc.integer(), (all, seed) => {
    const shuffled = all.toSorted(
      (a, b) => ((a.ticker.charCodeAt(0) * seed) % 7) - ((b.ticker.charCodeAt(0) * seed) % 7),
    );
    const [one, other] = [all, shuffled].map((order) => finished(relativeTargets(order)));
    for (const { ticker } of all) assert.deepEqual(one!.byTicker.get(ticker), other!.byTicker.get(ticker));
    assert.ok(Object.is(one!.levels.final, other!.levels.final));
    assert.ok(Object.is(one!.levels.knownAt(20), other!.levels.knownAt(20)));
  });
  fc.assert(property, { seed: 3, numRuns: 60 });
});

test("labels that come out later change no target, and no level, before them", () => {
  const property = fc.property(panels, fc.integer({ min: 5, max: CUT }), (all, day) => {
    const changed = all.map((panel) => ({
      ...panel,
      y: panel.y.map((y, row) => (panel.labelDays[row]! > day ? -17 * y + 3 : y)),
    }));
    const [one, other] = [all, changed].map((given) => finished(relativeTargets(given)));
    for (const { ticker, labelDays } of all) {
      for (const [row, known] of labelDays.entries()) {
        if (known > day) continue;
        assert.equal(one!.byTicker.get(ticker)![row], other!.byTicker.get(ticker)![row]);
      }
    }
    assert.ok(Object.is(one!.levels.knownAt(day), other!.levels.knownAt(day)));
  });
  fc.assert(property, { seed: 4, numRuns: 60 });
});

function assertClose(actual: number, expected: number): void {
  if (Number.isNaN(expected)) assert.ok(Number.isNaN(actual));
  else assert.ok(Math.abs(actual - expected) < 1e-12, `${actual} against ${expected}`);
}
