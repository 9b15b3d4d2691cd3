import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import { SHRINKAGES } from "../contract/config/panel-settings.ts";
import type { DatedForecasts } from "./forecast-rows.ts";
import {
  dateShrinkage,
  isWild,
  posteriorSlope,
  type SizedForecasts,
  shrinkage,
  shrinkageFactors,
} from "./shrinkage.ts";

const random = seededRandom(4);
const draws = (n: number, scale = 1) => Float64Array.from({ length: n }, () => scale * random.normal());

test("the slope, its robust error and the share follow their formulas", () => {
  const p = draws(300, 0.01);
  const y = p.map((value) => 0.6 * value + 0.02 * random.normal());
  const sum = (term: (i: number) => number) => Array.from(p, (_, i) => term(i)).reduce((a, b) => a + b);
  const pp = sum((i) => p[i]! ** 2);
  const b = sum((i) => y[i]! * p[i]!) / pp;
  const se = Math.sqrt(sum((i) => p[i]! ** 2 * (y[i]! - b * p[i]!) ** 2)) / pp;
  const found = shrinkage(y, p);
  assert.equal(found.n, 300);
  assert.ok(Math.abs(found.b! - b) < 1e-12 && Math.abs(found.se! - se) < 1e-12);
  assert.ok(Math.abs(found.s - Math.max(0, Math.min(1, b - se))) < 1e-12);
});

test("forecasts of 0, and no rows, have a share of 0", () => {
  assert.deepEqual(shrinkage(draws(5), new Float64Array(5)), { n: 5, b: null, se: null, s: 0 });
  assert.deepEqual(shrinkage(new Float64Array(0), new Float64Array(0)), { n: 0, b: null, se: null, s: 0 });
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

/** Standard errors of the mean of n values, from the formulas of docs/semantics.md. */
function slowError(values: readonly number[]): number {
  const n = values.length;
  const centre = values.reduce((a, b) => a + b) / n;
  if (n >= 60) {
    const sums = [1, 2, 3, 4, 5, 6, 7, 8].map((j) =>
      values.reduce((sum, x, d) => sum + Math.cos((Math.PI * j * (d + 0.5)) / n) * (x - centre), 0),
    );
    return Math.sqrt(((2 / n) * sums.reduce((sum, value) => sum + value ** 2, 0)) / 8 / n);
  }
  const products = values.flatMap((one, i) =>
    values.map((other, j) => Math.max(0, 1 - Math.abs(i - j) / 6) * (one - centre) * (other - centre)),
  );
  return Math.sqrt(products.reduce((a, b) => a + b)) / n;
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
    const sum = (values: readonly number[]) => values.reduce((a, b) => a + b);
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

test("pooled shrinkage has one factor for all, and changes the order of no ticker or date", () => {
  const { byTicker: factors } = shrinkageFactors("pooled", oversized(30, 200));
  const [first] = factors.values();
  assert.ok(first! > 0.12 && first! < 0.28, String(first));
  assert.ok([...factors.values()].every((factor) => factor === first));
  assert.deepEqual([...shrinkageFactors("none", oversized(3, 40)).byTicker.values()], [1, 1, 1]);
});

test("the factors of empirical Bayes follow its formula", () => {
  const rows = oversized(12, 120, { size: 2, spread: 0.6 });
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
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

test("one ticker, no rows and forecasts of 0 have a factor", () => {
  const [only] = oversized(1, 100);
  const empty = { ticker: "E", days: new Int32Array(0), predicted: draws(0), realised: draws(0) };
  const still = { ...only!, ticker: "Z", predicted: new Float64Array(100) };
  for (const choice of SHRINKAGES) {
    for (const rows of [[only!], [empty], [still], [only!, empty, still]]) {
      for (const [ticker, factor] of shrinkageFactors(choice, rows).byTicker) {
        assert.ok(factor >= 0 && factor <= 1, `${choice} ${ticker} ${factor}`);
      }
    }
  }
});

const randomOfWildForecast = seededRandom(8);

/** Values with exactly that deviation (ddof 0) around 0. */
function drawsOfWildForecast(n: number, deviation: number): Float64Array {
  const values = Float64Array.from({ length: n }, () => randomOfWildForecast.normal());
  const mean = values.reduce((a, b) => a + b) / n;
  const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
  return values.map((value) => ((value - mean) / Math.sqrt(square)) * deviation);
}

const UNIT = 0.01;
const LABELS = drawsOfWildForecast(300, UNIT);

/** Forecasts, and labels that are `slope` times them plus orthogonal noise. */
function heldOut(deviation: number, slope: number) {
  const predicted = drawsOfWildForecast(200, deviation);
  const noise = drawsOfWildForecast(200, UNIT);
  const sum = (values: Float64Array) => values.reduce((a, b) => a + b, 0);
  const along = sum(noise.map((e, i) => e * predicted[i]!)) / sum(predicted.map((p) => p * p));
  return {
    predicted,
    realised: predicted.map((p, i) => slope * p + (noise[i]! - along * p)),
  };
}

const sized = (more: Partial<SizedForecasts>): SizedForecasts => ({
  fitLabels: LABELS,
  heldOut: heldOut(0.3 * UNIT, 1),
  score: drawsOfWildForecast(100, 0.3 * UNIT),
  mu: 0.5 * UNIT,
  ...more,
});

test("out-of-sample forecasts are wild if they spread too far and their slope is too low", () => {
  assert.equal(isWild(sized({ heldOut: heldOut(0.51 * UNIT, 0.49) })), true);
  assert.equal(isWild(sized({ heldOut: heldOut(0.51 * UNIT, 0.51) })), false);
  assert.equal(isWild(sized({ heldOut: heldOut(0.49 * UNIT, 0.49) })), false);
});

test("forecasts of score rows are wild if they spread too far, and much further than the tested ones", () => {
  const tested = heldOut(0.2 * UNIT, 1);
  assert.equal(isWild(sized({ heldOut: tested, score: drawsOfWildForecast(20, 0.61 * UNIT) })), true);
  assert.equal(isWild(sized({ heldOut: tested, score: drawsOfWildForecast(19, 0.61 * UNIT) })), false);
  assert.equal(isWild(sized({ heldOut: tested, score: drawsOfWildForecast(20, 0.59 * UNIT) })), false);
  const calm = heldOut(0.1 * UNIT, 1);
  assert.equal(isWild(sized({ heldOut: calm, score: drawsOfWildForecast(20, 0.49 * UNIT) })), false);
  assert.equal(isWild(sized({ heldOut: calm, score: drawsOfWildForecast(20, 0.51 * UNIT) })), true);
});

test("mu is wild above two deviations of the labels, and above one if the slope is low or missing", () => {
  for (const sign of [1, -1]) {
    assert.equal(isWild(sized({ mu: 2.01 * UNIT * sign })), true);
    assert.equal(isWild(sized({ mu: 1.99 * UNIT * sign })), false);
    const low = heldOut(0.3 * UNIT, 0.49);
    assert.equal(isWild(sized({ heldOut: low, mu: 1.01 * UNIT * sign })), true);
    assert.equal(isWild(sized({ heldOut: low, mu: 0.99 * UNIT * sign })), false);
    const none = { realised: new Float64Array(), predicted: new Float64Array() };
    assert.equal(isWild(sized({ heldOut: none, mu: 1.01 * UNIT * sign })), true);
    assert.equal(isWild(sized({ heldOut: none, mu: 0.99 * UNIT * sign })), false);
  }
});
