import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../../test/twins/random.ts";
import { ADAPTIVE_CONSTANTS, adaptiveIntervals, RunningQuantile } from "./adaptive-intervals.ts";
import type { Bound, IntervalRows, Residuals } from "./conformal.ts";
import { conformalQuantile } from "./conformal.ts";

const NONE = Number.NaN;

interface Case {
  readonly residuals: Residuals;
  readonly rows: IntervalRows;
  readonly alpha: number;
  readonly bound: Bound;
}

/** A ticker with volatility clusters: some labels missing, some published several rows late, the last one not yet known. */
function made(
  seed: number,
  { m = 60, n = 80, alpha = 0.1, bound = "both" as Bound, scale = 0.01 } = {},
): Case {
  const random = seededRandom(seed);
  let volatility = scale;
  const draw = () => {
    volatility = Math.max(scale / 9, volatility * (1 + 0.3 * random.normal()));
    return volatility * random.normal();
  };
  const series = (length: number) => Float64Array.from({ length }, draw);
  const days = Int32Array.from({ length: n }, (_, i) => 100 + 2 * i);
  const realised = series(n).map((y, i) => (i === n - 1 || random.below(12) === 0 ? NONE : y));
  const labelDays = days.map((day) => day + 2 + (random.below(7) === 0 ? random.below(6) : 0));
  for (let i = 1; i < n; i++) labelDays[i] = Math.max(labelDays[i]!, labelDays[i - 1]!);
  return {
    residuals: { realised: series(m), predicted: series(m).map((p) => p / 5) },
    rows: {
      days,
      labelDays,
      realised,
      predicted: series(n).map((p) => p / 5),
      volatility: new Float64Array(n),
    },
    alpha,
    bound,
  };
}

function intervals({ residuals, rows, alpha, bound }: Case) {
  return adaptiveIntervals(residuals, rows, alpha, bound);
}

const CASES = fc.record({
  seed: fc.nat(1_000_000),
  m: fc.integer({ min: 1, max: 90 }),
  n: fc.integer({ min: 1, max: 120 }),
  alpha: fc.constantFrom(0.01, 0.05, 0.1, 0.2, 0.5, 0.99),
  bound: fc.constantFrom<Bound>("both", "lower", "upper"),
});

test("misses equal alpha times the rows learned, apart from the feedback and what clipping added", () => {
  const property = fc.property(CASES, ({ seed, ...shape }) => {
    const { misses, learned, feedback, clipped } = intervals(made(seed, shape));
    const identity = shape.alpha * learned + (feedback - clipped) / ADAPTIVE_CONSTANTS.feedback;
    assert.ok(Math.abs(misses - identity) < 1e-9 * (1 + learned), `${misses} is not ${identity}`);
    assert.ok(clipped >= 0);
    if (shape.bound !== "both") assert.equal(clipped, 0);
  });
  fc.assert(property, { seed: 1, numRuns: 400 });
});

test("labels published after the close of a row move neither its ends nor earlier ones", () => {
  const property = fc.property(CASES, fc.nat(119), ({ seed, ...shape }, pick) => {
    const whole = made(seed, shape);
    const row = pick % shape.n;
    const day = whole.rows.days[row]!;
    const changed = whole.rows.realised.map((y, i) => (whole.rows.labelDays[i]! > day ? y * -37 + 1 : y));
    const before = intervals(whole);
    const after = intervals({ ...whole, rows: { ...whole.rows, realised: changed } });
    assert.deepEqual(after.lower.subarray(0, row + 1), before.lower.subarray(0, row + 1));
    assert.deepEqual(after.upper.subarray(0, row + 1), before.upper.subarray(0, row + 1));
  });
  fc.assert(property, { seed: 2, numRuns: 300 });
});

test("after each score, the quantile equals that of all sorted scores so far", () => {
  const score = fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: -9, max: 9 }) },
    { weight: 1, arbitrary: fc.constant(Number.POSITIVE_INFINITY) },
  );
  const alpha = fc.integer({ min: 1, max: 999 }).map((perMille) => perMille / 1000);
  const property = fc.property(fc.array(score, { maxLength: 120 }), alpha, (scores, at) => {
    const running = new RunningQuantile(at);
    assert.equal(running.quantile(), undefined);
    for (const [i, value] of scores.entries()) {
      running.add(value);
      assert.equal(running.quantile(), conformalQuantile(Float64Array.from(scores.slice(0, i + 1)), at));
    }
  });
  fc.assert(property, { seed: 1, numRuns: 500 });
});
