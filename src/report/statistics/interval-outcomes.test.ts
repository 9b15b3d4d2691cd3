import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../test/twins/random.ts";
import { coverageTable } from "../../evaluate/intervals/coverage.ts";
import { median } from "../../evaluate/statistics.ts";
import { datedRows, isNear } from "./dated-rows.testing.ts";
import { dateCoverage, intervalOutcomes, medianWidths, outcomesByDate } from "./interval-outcomes.ts";
import { ratioOverDates } from "./over-dates.ts";

type Side = "both" | "lower" | "upper";

/** Rows with ends on some dates and labels on most. */
function boundedRows(seed: number, side: Side) {
  const random = seededRandom(seed + 50);
  return datedRows(seed).map((row) => {
    const none = (end: number) => (random.uniform() < 0.1 ? Number.NaN : end);
    const half = row.days.map(() => 1 + random.below(20));
    const noEnds = row.days.map(() => (random.uniform() < 0.15 ? 1 : 0));
    const end = (sign: number) =>
      row.predicted.map((p, i) => (noEnds[i] === 1 ? Number.NaN : p + (sign * half[i]!) / 1_000));
    return {
      ...row,
      realised: row.realised.map(none),
      trainingMean: new Float64Array(row.days.length),
      lower: side === "upper" ? end(-1).fill(Number.NaN) : end(-1),
      upper: side === "lower" ? end(1).fill(Number.NaN) : end(1),
    };
  });
}

for (const side of ["both", "lower", "upper"] as const) {
  test(`outcomes have the coverage and the width of the output's own table: ${side}`, () => {
    for (let seed = 1; seed <= 15; seed++) {
      const rows = boundedRows(seed, side);
      const outcomes = rows.map(intervalOutcomes);
      const noVolatility = rows.map((row) => ({
        ...row,
        volatility: new Float64Array(row.days.length).fill(Number.NaN),
      }));
      const { pooled, by_ticker } = coverageTable(noVolatility, 0.1);
      const held = dateCoverage(outcomesByDate(outcomes));
      const { ratio, band } = ratioOverDates(held);
      assert.ok(isNear(ratio, pooled.coverage!));
      assert.ok(band!.low < ratio);
      for (const { ticker, side: sides, width } of outcomes) {
        const { n, coverage, mean_width } = by_ticker.get(ticker)!;
        assert.equal(sides.length, n);
        assert.ok(isNear(sides.filter((where) => where === 0).length / n, coverage!));
        const mean = width.reduce((a, b) => a + b, 0) / n;
        assert.ok(mean > 0 && (mean_width === null ? side !== "both" : isNear(mean, mean_width)));
      }
    }
  });
}

test("a miss has the side of its label, and the width of a date is the median of its tickers", () => {
  const rows = boundedRows(4, "both");
  const outcomes = rows.map(intervalOutcomes);
  for (const [k, row] of rows.entries()) {
    const counted = [...row.days.keys()].filter(
      (i) => !Number.isNaN(row.realised[i]!) && !Number.isNaN(row.lower[i]!),
    );
    const sides = counted.map((i) =>
      row.realised[i]! < row.lower[i]! ? -1 : row.realised[i]! > row.upper[i]! ? 1 : 0,
    );
    assert.deepEqual([...outcomes[k]!.side], sides);
    assert.deepEqual(
      [...outcomes[k]!.days],
      counted.map((i) => row.days[i]),
    );
  }
  const widths = medianWidths(outcomesByDate(outcomes));
  for (const [i, day] of dateCoverage(outcomesByDate(outcomes)).days.entries()) {
    const there = outcomes.flatMap(({ days, width }) => {
      const at = days.indexOf(day);
      return at < 0 ? [] : [width[at]!];
    });
    assert.equal(widths[i], median(Float64Array.from(there)));
  }
});
