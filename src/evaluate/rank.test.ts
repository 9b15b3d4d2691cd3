import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import stored from "../../test/cases/rank-ic.json" with { type: "json" };
import { averageRanks } from "./rank.ts";
import { slowRanks } from "./statistics.testing.ts";
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
