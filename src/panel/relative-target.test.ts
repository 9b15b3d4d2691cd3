import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { NO_LABEL_DAY } from "./labels.ts";
import { ascending, type RandomPanel, randomPanels } from "./panels.testing.ts";
import { MIN_DATE_TICKERS, relativeTargets } from "./relative-target.ts";

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

/** The area under the standard normal density left of x, by Simpson's rule. */
function normalArea(x: number): number {
  const density = (t: number) => Math.exp((-t * t) / 2) / Math.sqrt(2 * Math.PI);
  const [steps, h] = [2_000, x / 2_000];
  let sum = density(0) + density(x);
  for (let i = 1; i < steps; i++) sum += (i % 2 === 0 ? 2 : 4) * density(i * h);
  return 0.5 + (sum * h) / 3;
}

test("the target of a rank has the area of its share of the labels to its left", () => {
  const property = fc.property(panels, (all) => {
    // Many ties.
    const rounded = all.map((panel) => ({ ...panel, y: panel.y.map((y) => Math.round(20 * y) / 20) }));
    const { byTicker } = relativeTargets(rounded, "rank");
    for (const panel of rounded) {
      for (const [row, target] of byTicker.get(panel.ticker)!.values.entries()) {
        if (panel.labelDays[row] === NO_LABEL_DAY) continue;
        const labels = labelsOf(rounded, panel.days[row]!, panel.labelDays[row]!);
        const isUsed = labels.length >= MIN_DATE_TICKERS && new Set(labels).size > 1;
        assert.equal(Number.isNaN(target), !isUsed);
        const own = panel.y[row]!;
        const rank = labels.filter((y) => y < own).length + (1 + labels.filter((y) => y === own).length) / 2;
        if (isUsed) assertClose(normalArea(target), (rank - 0.5) / labels.length);
      }
    }
  });
  fc.assert(property, { seed: 5, numRuns: 10 });
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
