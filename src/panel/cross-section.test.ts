import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { MucastError } from "../contract/errors/errors.ts";
import { crossSections, scoredFeatures, zScores } from "./cross-section.ts";
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
