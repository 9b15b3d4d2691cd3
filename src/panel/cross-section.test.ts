import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { MucastError } from "../contract/errors/errors.ts";
import {
  countFeatures,
  crossSections,
  MAX_Z_SCORE,
  rowsWithZScores,
  scoredFeatures,
  zScores,
} from "./cross-section.ts";
import { ascending, type RandomPanel, randomPanels } from "./panels.testing.ts";

/** Values of a panel that depend only on the panel. @returns shape (rows, columns). */
function valuesOf({ columns, days }: RandomPanel, draw: () => number): Float64Array {
  return Float64Array.from({ length: days.length * columns.length }, draw);
}

const numbers = fc.infiniteStream(
  fc.oneof(fc.double({ min: -1e3, max: 1e3, noNaN: true }), fc.constantFrom(0, 1, 1e300, -1e300)),
);

function sectionsOf(panels: readonly RandomPanel[], x: ReadonlyMap<string, Float64Array>) {
  const scored = scoredFeatures(panels);
  const read = () =>
    ascending(panels).map(({ ticker, columns, days }) => ({ columns, days, x: x.get(ticker)! }));
  return { scored, sections: crossSections(read, panels, scored) };
}

test("z-scores equal those of a slow search, for rows of dates with five tickers", () => {
  const property = fc.property(randomPanels(25, 20), numbers, (panels, stream) => {
    const draw = () => stream.next().value as number;
    const x = new Map(panels.map((panel) => [panel.ticker, valuesOf(panel, draw)]));
    const { scored, sections } = sectionsOf(panels, x);
    const counts = countFeatures(panels, scored);
    for (const name of ["f", "g", "h"]) {
      const count = panels.filter(({ columns }) => columns.includes(name)).length;
      assert.equal(scored.has(name), count >= 5);
    }
    for (const panel of panels) {
      const own = panel.columns.filter((name) => scored.has(name));
      const scores = zScores({ ...panel, x: x.get(panel.ticker)! }, sections);
      const kept = new Set(rowsWithZScores(panel, counts));
      assert.equal(scores.length, panel.days.length * own.length);
      for (const [row, day] of panel.days.entries()) {
        const dates = own.map((name) => valuesOn(panels, x, day, name));
        assert.equal(
          kept.has(row),
          dates.every((values) => values.length >= 5),
        );
        for (const [c, values] of dates.entries()) {
          const value = x.get(panel.ticker)![row * panel.columns.length + panel.columns.indexOf(own[c]!)]!;
          assert.ok(Math.abs(scores[row * own.length + c]! - slowScore(value, values)) < 1e-6);
        }
      }
    }
  });
  fc.assert(property, { seed: 7, numRuns: 60 });
});

function valuesOn(
  panels: readonly RandomPanel[],
  x: ReadonlyMap<string, Float64Array>,
  day: number,
  name: string,
): number[] {
  return panels.flatMap(({ ticker, columns, days }) => {
    const [row, column] = [days.indexOf(day), columns.indexOf(name)];
    return row < 0 || column < 0 ? [] : [x.get(ticker)![row * columns.length + column]!];
  });
}

function slowScore(value: number, values: readonly number[]): number {
  const largest = Math.max(...values.map(Math.abs));
  if (largest === 0) return 0;
  const shares = values.map((other) => other / largest);
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const deviation = Math.sqrt(shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / shares.length);
  if (deviation <= 1e-12) return 0;
  return Math.max(-MAX_Z_SCORE, Math.min(MAX_Z_SCORE, (value / largest - mean) / deviation));
}

test("later values change no earlier z-score", () => {
  const property = fc.property(
    randomPanels(25, 20),
    numbers,
    fc.integer({ min: 1, max: 24 }),
    (panels, stream, day) => {
      const draw = () => stream.next().value as number;
      const x = new Map(panels.map((panel) => [panel.ticker, valuesOf(panel, draw)]));
      const changed = new Map(
        panels.map(({ ticker, columns, days }) => [
          ticker,
          x.get(ticker)!.map((value, i) => (days[Math.floor(i / columns.length)]! > day ? 5 - value : value)),
        ]),
      );
      const [one, other] = [x, changed].map((values) => sectionsOf(panels, values).sections);
      for (const panel of panels) {
        const early = panel.days.filter((d) => d <= day).length;
        const [before, after] = [one!, other!].map((sections, i) =>
          zScores({ ...panel, x: (i === 0 ? x : changed).get(panel.ticker)! }, sections),
        );
        const width = before!.length / Math.max(1, panel.days.length);
        assert.deepEqual(before!.subarray(0, early * width), after!.subarray(0, early * width));
      }
    },
  );
  fc.assert(property, { seed: 8, numRuns: 40 });
});

test("refuses more features and days than there is room for before allocating anything", () => {
  const names = Array.from({ length: 20_000 }, (_, i) => `f${i}`);
  const panels = [{ columns: [], days: Int32Array.of(0, 20_000) }];
  assert.throws(
    () => crossSections(() => [], panels, new Set(names)),
    (error: MucastError) => error.code === "out_of_memory" && /20000 features over 20001/.test(error.message),
  );
});
