import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../../test/twins/random.ts";
import { stationaryResamples } from "./block-bootstrap.ts";
import { average, isNear, slowError } from "./dated-rows.testing.ts";
import { type Alternative, stepwiseTests, type TestedSeries } from "./stepwise-tests.ts";

/** Series that share much of each date; the first has the mean `edge`, and some have gaps. */
function correlated(seed: number, count: number, dates: number, edge = 0): TestedSeries[] {
  const random = seededRandom(seed);
  const common = Array.from({ length: dates }, () => random.normal());
  return Array.from({ length: count }, (_, k) => ({
    values: Float64Array.from(common, (shared, d) =>
      k === 1 && d % 7 === 0 ? Number.NaN : shared + 0.5 * random.normal() + (k === 0 ? edge : 0),
    ),
    scale: 1,
  }));
}

/** Step by step, with lists: the largest t against the largest of the resampled t's of the remaining series. */
function slowTests(series: readonly TestedSeries[], draws: readonly number[][], sides: Alternative) {
  const sized = (t: number) => (sides === "above" ? t : Math.abs(t));
  const known = (values: readonly number[]) => values.filter((value) => !Number.isNaN(value));
  const centres = series.map(({ values }) => average(known([...values])));
  const ts = series.map(({ values }, k) => centres[k]! / slowError(known([...values])));
  const resampled = draws.map((draw) =>
    series.map(({ values }, k) => {
      const drawn = known(draw.map((date) => values[date]!));
      return (average(drawn) - centres[k]!) / slowError(drawn);
    }),
  );
  const p = new Map<number, number>();
  const left = new Set(series.keys());
  let before = 0;
  while (left.size > 0) {
    const best = [...left].reduce((a, b) => (sized(ts[b]!) > sized(ts[a]!) ? b : a));
    const larger = resampled.filter((t) => [...left].some((k) => sized(t[k]!) >= sized(ts[best]!))).length;
    before = Math.max(before, (1 + larger) / (1 + draws.length));
    p.set(best, before);
    left.delete(best);
  }
  return ts.map((t, k) => ({ t, p: p.get(k)! }));
}

test("t's and adjusted p's equal going through the steps with lists", () => {
  for (const sides of ["above", "apart"] as const) {
    for (let seed = 1; seed <= 4; seed++) {
      const series = correlated(seed, 5, 40, 0.2);
      const resamples = stationaryResamples(40, 60);
      const slow = slowTests(
        series,
        Array.from(resamples, (drawn) => [...drawn]),
        sides,
      );
      for (const [k, { t, p }] of stepwiseTests(series, resamples, sides).entries()) {
        assert.ok(isNear(t!, slow[k]!.t) && isNear(p!, slow[k]!.p), `${p} ${slow[k]!.p}`);
      }
    }
  }
});

test("p's ascend as t's fall, and a series added never makes another p smaller", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 2, max: 6 }), (seed, count) => {
      const series = correlated(seed, count, 40, 0.3);
      const resamples = stationaryResamples(40, 50);
      const all = stepwiseTests(series, resamples, "above");
      const sorted = [...all].sort((a, b) => b.t! - a.t!);
      assert.ok(sorted.every(({ p }, i) => i === 0 || p! >= sorted[i - 1]!.p!));
      const fewer = stepwiseTests(series.slice(0, -1), resamples, "above");
      assert.ok(fewer.every(({ p }, k) => p! <= all[k]!.p!));
    }),
    { seed: 2, numRuns: 40 },
  );
});

test("eight series without a mean reject any of them in about 5 %, separate tests far more often", () => {
  const markets = 120;
  let [adjusted, alone] = [0, 0];
  for (let seed = 1; seed <= markets; seed++) {
    const random = seededRandom(seed);
    const series = Array.from({ length: 8 }, () => ({
      values: Float64Array.from({ length: 60 }, () => random.normal()),
      scale: 1,
    }));
    const resamples = stationaryResamples(60, 200);
    if (stepwiseTests(series, resamples, "above").some(({ p }) => p! <= 0.05)) adjusted++;
    if (series.some((one) => stepwiseTests([one], resamples, "above")[0]!.p! <= 0.05)) alone++;
  }
  assert.ok(adjusted / markets < 0.11, `${adjusted / markets}`);
  assert.ok(alone / markets > 0.2, `${alone / markets}`);
});

test("a real mean is found beside seven that are 0", () => {
  const found = stepwiseTests(correlated(3, 8, 250, 0.4), stationaryResamples(250, 200), "above");
  assert.ok(found[0]!.p! < 0.01 && found.slice(1).every(({ p }) => p! > 0.05));
});

test("equal values are certain, and no values have no test", () => {
  const series = (values: Float64Array) => ({ values, scale: 1 });
  const [sure, never, none, empty] = stepwiseTests(
    [0.5, -0.5, 0]
      .map((value) => series(new Float64Array(30).fill(value)))
      .concat(series(new Float64Array(0))),
    stationaryResamples(30, 20),
    "above",
  );
  assert.deepEqual(
    [sure, never, none, empty],
    [
      { t: Number.POSITIVE_INFINITY, p: 0 },
      { t: Number.NEGATIVE_INFINITY, p: 1 },
      { t: null, p: null },
      { t: null, p: null },
    ],
  );
});
