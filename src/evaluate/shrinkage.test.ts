import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import type { DatedForecasts } from "./forecast-rows.ts";
import type { Residuals } from "./intervals/conformal.ts";
import { dateShrinkage, isWild, posteriorSlope, shrinkage, shrinkageFactors } from "./shrinkage.ts";
import { slowError, sum } from "./statistics.testing.ts";

const random = seededRandom(4);
const draws = (n: number, scale = 1) => Float64Array.from({ length: n }, () => scale * random.normal());

test("the slope, its robust error and the share follow their formulas", () => {
  const p = draws(300, 0.01);
  const y = p.map((value) => 0.6 * value + 0.02 * random.normal());
  const pp = sum(Array.from(p, (value) => value ** 2));
  const b = sum(Array.from(p, (value, i) => y[i]! * value)) / pp;
  const se = Math.sqrt(sum(Array.from(p, (value, i) => value ** 2 * (y[i]! - b * value) ** 2))) / pp;
  const found = shrinkage(y, p);
  assert.equal(found.n, 300);
  assert.ok(Math.abs(found.b! - b) < 1e-12 && Math.abs(found.se! - se) < 1e-12);
  assert.ok(Math.abs(found.s - Math.max(0, Math.min(1, b - se))) < 1e-12);
});

/** Tickers whose forecasts are `size` times too large, each with its own slope around 1 / size. */
function oversized(tickers: number, dates: number, { size = 5, spread = 0 } = {}): DatedForecasts[] {
  return Array.from({ length: tickers }, (_, t) => {
    const slope = (1 + spread * random.normal()) / size;
    const predicted = draws(dates, 0.02 * (t + 1));
    return {
      ticker: `T${String(t).padStart(3, "0")}`,
      days: Int32Array.from({ length: dates }, (_day, d) => d),
      predicted,
      realised: predicted.map((p) => slope * p + 0.05 * (t + 1) * random.normal()),
    };
  });
}

/** The mean of N(b, se²) times N(0.30, 0.25²) over [0, 1], by a dense sum. */
function slowPosterior(b: number, se: number): number {
  let [weights, mean] = [0, 0];
  for (let i = 0; i < 200_000; i++) {
    const x = (i + 0.5) / 200_000;
    const weight = Math.exp(-((x - b) ** 2) / (2 * se ** 2) - (x - 0.3) ** 2 / (2 * 0.25 ** 2));
    weights += weight;
    mean += weight * x;
  }
  return mean / weights;
}

for (const dates of [59, 60, 90]) {
  test(`the slope over ${dates} dates, above their levels, follows its formula`, () => {
    const rows = oversized(6, dates).map((row) => {
      const levels = Float64Array.from(row.days, (day) => (day < 20 ? 0.02 : -0.01));
      const lifted = (values: Float64Array) => values.map((value, i) => value + levels[i]!);
      return { ...row, levels, predicted: lifted(row.predicted), realised: lifted(row.realised) };
    });
    const [products, squares] = [new Array<number>(dates).fill(0), new Array<number>(dates).fill(0)];
    for (const { realised, predicted, levels } of rows) {
      const unit = Math.sqrt([...realised].reduce((sum, y) => sum + y * y, 0) / dates);
      for (let d = 0; d < dates; d++) {
        const [y, p] = [realised[d]! - levels[d]!, predicted[d]! - levels[d]!];
        products[d]! += (y * p) / unit ** 2;
        squares[d]! += (p / unit) ** 2;
      }
    }
    const b = sum(products) / sum(squares);
    const se = slowError(products.map((value, d) => value - b * squares[d]!)) / (sum(squares) / dates);
    const found = dateShrinkage(rows);
    assert.ok(Math.abs(found.b! - b) < 1e-12 && Math.abs(found.se! - se) < 1e-9);
    assert.ok(Math.abs(found.s - slowPosterior(b, se)) < 1e-9);
  });
}

test("the factor is the expected slope given the estimate: near the prior if it is uncertain, near the slope if not", () => {
  for (const b of [-0.3, 0, 0.05, 0.3, 0.9, 1.5]) {
    for (const se of [0.2, 0.5, 2]) {
      assert.ok(Math.abs(posteriorSlope(b, se) - slowPosterior(b, se)) < 1e-9, `${b} ${se}`);
    }
  }
  assert.ok(Math.abs(posteriorSlope(5, 1e9) - slowPosterior(0, 1e9)) < 1e-9);
  assert.ok(Math.abs(posteriorSlope(0.2, 1e-6) - 0.2) < 1e-9);
  assert.deepEqual([posteriorSlope(0.2, 0), posteriorSlope(3, 0), posteriorSlope(-3, 0)], [0.2, 1, 0]);
  assert.ok(posteriorSlope(1e200, 1e199) > 0.3);
});

test("the factors of empirical Bayes follow its formula", () => {
  const rows = oversized(12, 120, { size: 2, spread: 0.6 });
  const slopes = rows.map(({ realised, predicted }) => shrinkage(realised, predicted));
  const weights = slopes.map(({ se }) => 1 / se! ** 2);
  const centre = sum(slopes.map(({ b }, i) => weights[i]! * b!)) / sum(weights);
  const q = sum(slopes.map(({ b }, i) => weights[i]! * (b! - centre) ** 2));
  const between = (q - 11) / (sum(weights) - sum(weights.map((w) => w * w)) / sum(weights));
  const c = dateShrinkage(rows).s;
  const factors = shrinkageFactors("empirical_bayes", rows).byTicker;
  assert.ok(between > 0);
  for (const [i, { ticker }] of rows.entries()) {
    const factor = (slopes[i]!.b! * weights[i]! + c / between) / (weights[i]! + 1 / between);
    assert.ok(Math.abs(factors.get(ticker)! - Math.max(0, Math.min(1, factor))) < 1e-12);
  }
});

const UNIT = 0.01;

/** Values with exactly that deviation (ddof 0) around 0. */
function drawsOf(n: number, deviation: number): Float64Array {
  const values = draws(n);
  const mean = values.reduce((a, b) => a + b) / n;
  const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
  return values.map((value) => ((value - mean) / Math.sqrt(square)) * deviation * UNIT);
}

/** Forecasts of a deviation, and labels that are `slope` times them plus orthogonal noise. */
function tested(deviation: number, slope: number) {
  const [predicted, noise] = [drawsOf(200, deviation), drawsOf(200, 1)];
  const along = sum([...noise.map((e, i) => e * predicted[i]!)]) / sum([...predicted.map((p) => p * p)]);
  return { predicted, realised: predicted.map((p, i) => slope * p + (noise[i]! - along * p)) };
}

const NONE: Residuals = { realised: new Float64Array(), predicted: new Float64Array() };

test("forecasts are wild if they spread too far for their slope, much further on score rows, or in mu", () => {
  const fitLabels = drawsOf(300, 1);
  const cases: [boolean, heldOut: typeof NONE, score: [rows: number, deviation: number], mu?: number][] = [
    [false, tested(0.3, 1), [100, 0.3], 0.5],
    [false, tested(0.3, 1), [100, 0.3]],
    [true, tested(0.51, 0.49), [100, 0.3], 0.5],
    [false, tested(0.51, 0.51), [100, 0.3], 0.5],
    [false, tested(0.49, 0.49), [100, 0.3], 0.5],
    [true, tested(0.2, 1), [20, 0.61], 0.5],
    [false, tested(0.2, 1), [19, 0.61], 0.5],
    [false, tested(0.2, 1), [20, 0.59], 0.5],
    [false, tested(0.1, 1), [20, 0.49], 0.5],
    [true, tested(0.1, 1), [20, 0.51], 0.5],
    [true, tested(0.3, 1), [100, 0.3], -2.01],
    [false, tested(0.3, 1), [100, 0.3], -1.99],
    [true, tested(0.3, 0.49), [100, 0.3], 1.01],
    [false, tested(0.3, 0.49), [100, 0.3], 0.99],
    [true, NONE, [0, 1], -1.01],
    [false, NONE, [0, 1], -0.99],
  ];
  for (const [i, [expected, heldOut, [rows, deviation], mu]] of cases.entries()) {
    const score = rows === 0 ? new Float64Array() : drawsOf(rows, deviation);
    const found = isWild({ fitLabels, heldOut, score, mu: mu === undefined ? mu : mu * UNIT });
    assert.equal(found, expected, `case ${i}`);
  }
});
