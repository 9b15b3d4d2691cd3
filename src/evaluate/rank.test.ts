import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import stored from "../../test/cases/rank-ic.json" with { type: "json" };
import { averageRanks } from "./rank.ts";
import { slowRanks } from "./statistics.testing.ts";
import { correlation } from "./statistics.ts";
import { crossSectionOf } from "./tables.testing.ts";

test("ranks agree with counting, with ties averaged", () => {
  const value = fc.oneof(
    fc.integer({ min: -3, max: 3 }),
    fc.constantFrom(0, -0, 5e-324, -5e-324),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  const property = fc.property(fc.array(value, { maxLength: 120 }), (values) => {
    assert.deepEqual([...averageRanks(Float64Array.from(values))], slowRanks(values));
  });
  fc.assert(property, { seed: 1 });
});

for (const { name, predicted, realised, ranks_of_predicted, spearman, ...rest } of stored.cases) {
  test(`ranks and RankIC equal those of scipy ${stored.scipy}: ${name}`, () => {
    const p = Float64Array.from(predicted);
    const y = Float64Array.from(realised);
    assert.deepEqual([...averageRanks(p)], ranks_of_predicted);
    const days = Int32Array.of(18_000);
    const rows = Array.from(p, (_, i) => ({
      ticker: `T${i}`,
      days,
      predicted: p.subarray(i, i + 1),
      realised: y.subarray(i, i + 1),
    }));
    const { ic_mean: ic, rank_ic_mean: rankIc } = crossSectionOf(rows);
    assert.ok(ic !== null && rankIc !== null);
    assert.ok(Math.abs(rankIc - spearman) < 1e-14, `${rankIc} is not ${spearman}`);
    if (rest.pearson !== undefined) assert.ok(Math.abs(ic - rest.pearson) < 1e-14, `${ic}, ${rest.pearson}`);
  });
}

test("values that differ in their last digit only are correlated exactly", () => {
  // Deviations in units of 2^-53: 0, 2, -1, 0 around 1; the correlation is 1.5 / sqrt(4.75 * 5).
  const p = Float64Array.of(1, 1 + 2 ** -52, 1 - 2 ** -53, 1);
  const found = correlation(p, Float64Array.of(4, 3, 2, 1))!;
  assert.ok(Math.abs(found - 1.5 / Math.sqrt(4.75 * 5)) < 1e-15, String(found));
});

test("a correlation never leaves [-1, 1], even for proportional sides", () => {
  const side = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 3, maxLength: 12 });
  const factor = fc.double({ min: -9, max: 9, noNaN: true });
  const property = fc.property(side, factor, (values, by) => {
    const found = correlation(
      Float64Array.from(values),
      Float64Array.from(values, (value) => value * by),
    );
    assert.ok(found === null || Math.abs(found) <= 1, String(found));
  });
  fc.assert(property, { seed: 5, numRuns: 3000 });
});
