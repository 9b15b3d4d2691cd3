import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { LIMITS } from "../contract/config/limits.ts";
import { joinAt, type RefitBlock, refitBlocks, rowsByBlock } from "./refit-blocks.ts";
import { buildTickerPanel, type TickerPanel } from "./ticker-panel.ts";

const CUT = 30;
test("too many blocks cause one error with the smallest setting that works", () => {
  const n = 2 * LIMITS.refitBlocks + 3;
  const days = Int32Array.from({ length: n + 1 }, (_, i) => i);
  const panel = {
    days,
    labelDays: days.map((day) => day + 1),
    fit: days.subarray(0, 1),
    score: days.subarray(1),
  };
  assert.throws(() => refitBlocks([panel], 2), {
    code: "invalid_request",
    message: /refit_every 2 .*2003 dates.*1002 blocks.*at most 1000.*set it to 3 or more/,
  });
  assert.equal(refitBlocks([panel], 3).length, 668);
});

/**
 * Rows on days `from` to 59, except the `absent` ones; the label of a row is known on the ticker's next day, and labels up to day 29 are
 * fit labels.
 */
function panel(from: number, absent: readonly number[] = []) {
  const days = Array.from({ length: 60 - from }, (_, i) => from + i).filter((day) => !absent.includes(day));
  const labelDays = [...days.slice(1), -2_147_483_648];
  const y = days.map((day, i) => (i === days.length - 1 ? Number.NaN : day / 100));
  const rows = days.map((_, i) => i);
  const fit = rows.filter((i) => labelDays[i]! <= 29 && i < days.length - 1);
  return {
    days: Int32Array.from(days),
    labelDays: Int32Array.from(labelDays),
    y: Float64Array.from(y),
    fit: Int32Array.from(fit),
    score: Int32Array.from(rows.slice(fit.length)),
  };
}

const PANELS = [panel(0), panel(7, [20, 21, 22, 40, 41]), panel(3, [31, 32])];

/** Dates of the rows, and of their labels. */
const dated = ({ days, labelDays }: (typeof PANELS)[number], rows: Int32Array) =>
  Array.from(rows, (row) => [days[row]!, labelDays[row]!]);

describe("the networks of a block learn what is known at its first date, compared with a slow twin,", () => {
  for (const window of [undefined, 12, 40]) {
    for (const [name, groups] of [
      ["each ticker alone", PANELS.map((own) => [own])],
      ["all tickers together", [PANELS]],
    ] as const) {
      test(`${name}, with a window of ${window}`, () => {
        const blocks = refitBlocks(PANELS, 8);
        assert.ok(blocks.length > 3);
        for (const panels of groups) {
          const rows = rowsByBlock(panels, blocks, window);
          for (const [b, { from, known = 29 }] of blocks.entries()) {
            const learnable = panels.map((own) =>
              dated(own, Int32Array.from(own.days.keys())).filter(
                ([, label]) => label! >= 0 && label! <= known,
              ),
            );
            const labels = [...new Set(learnable.flat().map(([, label]) => label!))].sort((p, q) => p - q);
            const first = window === undefined ? 0 : labels.slice(-window)[0]!;
            const next = blocks[b + 1]?.from ?? 60;
            for (const [i, own] of rows(b, b).entries()) {
              assert.deepEqual(
                dated(own, own.fit),
                learnable[i]!.filter(([, label]) => label! >= first),
              );
              const scored = dated(own, panels[i]!.score).map(([day]) => day!);
              assert.deepEqual(
                dated(own, own.score).map(([day]) => day!),
                scored.filter((day) => (b === 0 || day >= from) && day < next),
              );
            }
            if (b === 0) continue;
            const standIn = rows(b - 1, b);
            assert.deepEqual(
              standIn.map(({ fit }) => [...fit]),
              rows(b - 1, b - 1).map(({ fit }) => [...fit]),
            );
            assert.deepEqual(
              standIn.map(({ score }) => [...score]),
              rows(b, b).map(({ score }) => [...score]),
            );
          }
        }
      });
    }
  }
});

describe("a ticker that joins at a later block", () => {
  const LENGTH = 100;
  const JOINS = 70;
  const BLOCKS: RefitBlock[] = [CUT, JOINS, 85].map((from, b) => ({
    from,
    known: b === 0 ? undefined : from,
  }));
  const days = Int32Array.from({ length: LENGTH }, (_, day) => day);

  function panelOf(prices: readonly number[], cut: number, delay = 0): TickerPanel | undefined {
    try {
      return buildTickerPanel({
        ticker: "A",
        prices: { ticker: "A", days, prices: Float64Array.from(prices) },
        features: { ticker: "A", days, columns: ["f"], values: new Float64Array(LENGTH).fill(1) },
        window: { start: 0, end: LENGTH - 1, learningEnd: cut, cut, delay },
      });
    } catch {
      return undefined;
    }
  }

  test("learns and forecasts as in a job whose cut is the date", () => {
    let compared = 0;
    const price = fc.oneof(
      { arbitrary: fc.double({ min: 1, max: 2, noNaN: true }), weight: 20 },
      fc.constant(Number.NaN),
    );
    const prices = fc.array(price, { minLength: LENGTH, maxLength: LENGTH });
    const property = fc.property(prices, fc.constantFrom(0, 0, 1, 3), (own, delay) => {
      const [early, ...cuts] = [45, JOINS, 85].map((cut) => panelOf(own, cut, delay));
      if (early === undefined || cuts.includes(undefined)) return;
      compared++;
      const late = joinAt(early, JOINS);
      const rows = rowsByBlock([late], BLOCKS, undefined);
      for (const [i, from] of [JOINS, 85].entries()) {
        const [learned] = rows(i + 1, i + 1);
        assert.deepEqual(learned!.fit, cuts[i]!.fit);
        assert.deepEqual(
          [...learned!.score],
          [...cuts[i]!.score].filter((row) => {
            const day = cuts[i]!.days[row]!;
            return day >= from && (from === 85 || day < 85);
          }),
        );
      }
      assert.equal(rows(0, 0)[0]!.fit.length, 0);
    });
    fc.assert(property, { seed: 5, numRuns: 200 });
    assert.ok(compared > 100, String(compared));
  });
});
