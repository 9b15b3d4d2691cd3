import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { NO_LABEL_DAY } from "./labels.ts";
import { ascending, type RandomPanel, randomPanels } from "./panels.testing.ts";
import { MAX_TARGET, MIN_DATE_TICKERS, relativeTargets, WIDTH_DATES } from "./relative-target.ts";

const CUT = 40;
const panels = randomPanels(50, CUT);

/** The labels of a date that are known at `known`, by label date and then by ticker. */
function labelsOf(all: readonly RandomPanel[], date: number, known: number): number[] {
  return ascending(all)
    .flatMap((other) =>
      [...other.days.keys()]
        .filter((row) => other.days[row] === date && other.labelDays[row] !== NO_LABEL_DAY)
        .map((row) => ({ known: other.labelDays[row]!, y: other.y[row]! })),
    )
    .filter((label) => label.known <= known)
    .sort((a, b) => a.known - b.known)
    .map(({ y }) => y);
}

function meanOf(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

function deviationOf(labels: readonly number[]): number {
  const mean = meanOf(labels);
  return Math.sqrt(meanOf(labels.map((label) => (label - mean) * (label - mean))));
}

function slowTarget(all: readonly RandomPanel[], panel: RandomPanel, row: number): number {
  const labels = labelsOf(all, panel.days[row]!, panel.labelDays[row]!);
  const deviation = deviationOf(labels);
  const largest = Math.max(...labels.map(Math.abs));
  if (labels.length < MIN_DATE_TICKERS || deviation <= 1e-12 * largest) return Number.NaN;
  return Math.max(-MAX_TARGET, Math.min(MAX_TARGET, (panel.y[row]! - meanOf(labels)) / deviation));
}

function slowWidth(all: readonly RandomPanel[], day: number): number {
  const squares: number[] = [];
  for (let date = day - 1; date >= 0 && squares.length < WIDTH_DATES; date--) {
    const labels = labelsOf(all, date, day);
    if (labels.length >= MIN_DATE_TICKERS) squares.push(deviationOf(labels) ** 2);
  }
  return Math.sqrt(meanOf(squares));
}

test("targets, widths, levels and thin dates equal those of a slow search", () => {
  const property = fc.property(panels, fc.integer({ min: 0, max: 50 }), (all, day) => {
    const { byTicker, levels, thinDates } = relativeTargets(all);
    const learned: { known: number; y: number; isFit: boolean }[] = [];
    const counts = new Map<number, number>();
    for (const panel of all) {
      const fit = new Set(panel.fit);
      const own = byTicker.get(panel.ticker)!;
      for (const [row, date] of panel.days.entries()) {
        const isLabelled = panel.labelDays[row] !== NO_LABEL_DAY;
        const expected = isLabelled ? slowTarget(all, panel, row) : Number.NaN;
        assert.equal(own.values[row], expected);
        assertClose(own.widths[row]!, slowWidth(all, date));
        const label = { known: panel.labelDays[row]!, y: panel.y[row]!, isFit: fit.has(row) };
        if (!Number.isNaN(expected)) learned.push(label);
        if (fit.has(row)) counts.set(date, (counts.get(date) ?? 0) + 1);
      }
    }
    assert.equal(thinDates, [...counts.values()].filter((count) => count < MIN_DATE_TICKERS).length);
    const mean = (rows: typeof learned) => meanOf(rows.map(({ y }) => y));
    assertClose(levels.final, mean(learned.filter(({ isFit }) => isFit)));
    assertClose(levels.knownAt(day), mean(learned.filter(({ known }) => known <= day)));
  });
  fc.assert(property, { seed: 2, numRuns: 25 });
});

test("labels that are published later change no earlier target, width or level", () => {
  const property = fc.property(panels, fc.integer({ min: 5, max: CUT }), (all, day) => {
    const changed = all.map((panel) => ({
      ...panel,
      y: panel.y.map((y, row) => (panel.labelDays[row]! > day ? -17 * y + 3 : y)),
    }));
    const [one, other] = [all, changed].map((given) => relativeTargets(given));
    for (const { ticker, days, labelDays } of all) {
      const [before, after] = [one!.byTicker.get(ticker)!, other!.byTicker.get(ticker)!];
      for (const [row, known] of labelDays.entries()) {
        if (days[row]! <= day) assert.equal(before.widths[row], after.widths[row]);
        if (known <= day) assert.equal(before.values[row], after.values[row]);
      }
    }
    assert.ok(Object.is(one!.levels.knownAt(day), other!.levels.knownAt(day)));
  });
  fc.assert(property, { seed: 4, numRuns: 60 });
});

function assertClose(actual: number, expected: number): void {
  if (Number.isNaN(expected)) assert.ok(Number.isNaN(actual));
  else
    assert.ok(
      Math.abs(actual - expected) < 1e-12 * Math.max(1, Math.abs(expected)),
      `${actual} against ${expected}`,
    );
}
