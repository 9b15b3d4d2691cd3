import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../../test/twins/random.ts";
import { type Bound, conformalQuantile, conformalRank, smallestAlpha, splitIntervals } from "./conformal.ts";
import { type CoverageTable, coverageTable } from "./coverage.ts";

const ALPHA = fc.integer({ min: 1, max: 999 }).map((perMille) => perMille / 1000);

test("the rank is the exact ceiling of (m + 1)(1 - alpha), computed in whole numbers", () => {
  const property = fc.property(fc.nat(5000), fc.integer({ min: 1, max: 999 }), (m, perMille) => {
    const exact = Math.ceil(((m + 1) * (1000 - perMille)) / 1000);
    assert.equal(conformalRank(m, perMille / 1000), exact);
  });
  fc.assert(property, { seed: 1, numRuns: 5000 });
});

test("the quantile is a score that enough others do not exceed", () => {
  const scores = fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 40 });
  const property = fc.property(scores, ALPHA, (values, alpha) => {
    const q = conformalQuantile(Float64Array.from(values), alpha);
    const needed = (values.length + 1) * (1 - alpha) - 1e-9;
    const fits = values.filter((value) => values.filter((other) => other <= value).length >= needed);
    assert.equal(q, fits.length === 0 ? undefined : Math.min(...fits));
  });
  fc.assert(property, { seed: 2, numRuns: 2000 });
});

test("scores measure the bounded side, and bounds exist only on that side", () => {
  // Misses of 0.5 and -1.5, of which alpha 0.5 takes the larger score.
  const residuals = { realised: Float64Array.of(0.5, -1.5), predicted: new Float64Array(2) };
  const ends = (bound: Bound) => {
    const { lower, upper } = splitIntervals(residuals, Float64Array.of(1, 2), 0.5, bound);
    return [[...lower], [...upper]];
  };
  const none = [Number.NaN, Number.NaN];
  assert.deepEqual(ends("both"), [
    [-0.5, 0.5],
    [2.5, 3.5],
  ]);
  assert.deepEqual(ends("lower"), [[-0.5, 0.5], none]);
  assert.deepEqual(ends("upper"), [none, [1.5, 2.5]]);
});

test("the smallest advised alpha works, and a slightly smaller one does not", () => {
  for (let m = 1; m <= 5000; m++) {
    const alpha = smallestAlpha(m);
    assert.ok(conformalRank(m, alpha) <= m, `${alpha} at ${m}`);
    assert.ok(conformalRank(m, alpha * (1 - 2e-5)) > m, `${alpha} at ${m} is not the smallest`);
  }
});

/** Whether one ticker's intervals from its residuals cover as many fresh rows. */
function calibrate(
  ticker: string,
  past: { realised: Float64Array; predicted: Float64Array },
  next: { realised: Float64Array; predicted: Float64Array },
  alpha: number,
  bound: Bound,
) {
  const n = next.realised.length;
  return {
    ticker,
    ...next,
    days: new Int32Array(n),
    volatility: new Float64Array(n),
    ...splitIntervals(past, next.predicted, alpha, bound),
  };
}

/** Four standard errors of a share estimated from n trials: with a fixed seed, a test passes or fails for good. */
function tolerance(share: number, n: number): number {
  return 4 * Math.sqrt((share * (1 - share)) / n);
}

const TRIALS = 4000;

/** Coverage over independent tickers, each with m exchangeable skewed residuals and one fresh row. */
function simulate(m: number, alpha: number, bound: Bound): CoverageTable {
  const random = seededRandom(1000 * m + alpha * 100);
  const draw = (): number => -Math.log(1 - random.uniform()) - 1;
  return coverageTable(
    Array.from({ length: TRIALS }, (_, trial) => {
      const past = { realised: Float64Array.from({ length: m }, draw), predicted: new Float64Array(m) };
      const next = { realised: Float64Array.of(draw()), predicted: new Float64Array(1) };
      return calibrate(`T${trial}`, past, next, alpha, bound);
    }),
    alpha,
  );
}

for (const [m, alpha, bound] of [
  [9, 0.1, "lower"],
  [30, 0.05, "upper"],
  [300, 0.1, "both"],
] as const) {
  test(`${bound} intervals from ${m} exchangeable residuals at alpha ${alpha} cover as often as promised`, () => {
    const { pooled } = simulate(m, alpha, bound);
    assert.equal(pooled.n, TRIALS);
    // Without ties the coverage is exactly r / (m + 1).
    const promised = conformalRank(m, alpha) / (m + 1);
    assert.ok(promised >= 1 - alpha - 1e-9);
    const error = Math.abs(pooled.coverage! - promised);
    assert.ok(error <= tolerance(promised, TRIALS), `${pooled.coverage} is not ${promised}`);
    assert.equal(pooled.mean_width === null, bound !== "both");
  });
}
