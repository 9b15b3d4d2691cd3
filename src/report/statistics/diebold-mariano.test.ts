import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../test/twins/random.ts";
import { average, byDate, datedRows, isNear, laid, plainRows, slowError } from "./dated-rows.testing.ts";
import { dieboldMariano, squaredErrors } from "./diebold-mariano.ts";
import { twoSidedP } from "./normal-distribution.ts";

/** Twice the area beyond |t| under the normal density, by the trapezoid rule. */
function slowP(t: number): number {
  const step = 1e-4;
  let area = 0;
  for (let x = Math.abs(t); x < Math.abs(t) + 10; x += step) {
    area += (step * (Math.exp(-(x * x) / 2) + Math.exp(-((x + step) ** 2) / 2))) / 2;
  }
  return (2 * area) / Math.sqrt(2 * Math.PI);
}

test("the two-sided p is the area under the normal density", () => {
  for (const t of [0, 0.1, 0.5, 1, 1.645, 1.959963984540054, 3, 5, 7]) {
    assert.ok(Math.abs(twoSidedP(t) / slowP(t) - 1) < 1e-6, `${t}`);
    assert.equal(twoSidedP(-t), twoSidedP(t));
  }
  assert.ok(twoSidedP(40) >= 0 && twoSidedP(40) < 1e-300);
});

test("the test of two forecasts is the mean gain over the error that all weighted pairs of dates give", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const rows = datedRows(seed);
    const random = seededRandom(seed + 9);
    const others = rows.map((row) => ({
      ...row,
      predicted: row.predicted.map((p) => p + 0.003 * random.normal()),
    }));
    const [own, their] = [squaredErrors(laid(rows)), squaredErrors(laid(others))];
    const { dates, gain, t, p } = dieboldMariano(their.map((loss, i) => loss - own[i]!));
    const losses = [rows, others].map((side) =>
      byDate(plainRows(side)).map(([, date]) => average(date.map((row) => (row.y - row.p) ** 2))),
    );
    const gains = losses[1]!.map((loss, i) => loss - losses[0]![i]!);
    assert.equal(dates, gains.length);
    assert.ok(isNear(gain, average(gains)));
    assert.ok(isNear(t!, average(gains) / slowError(gains), 1e-7));
    assert.ok(Math.abs(p! - slowP(t!)) < 1e-6);
    const back = dieboldMariano(own.map((loss, i) => loss - their[i]!));
    assert.ok(isNear(back.t!, -t!, 1e-7) && isNear(back.p!, p!, 1e-7));
  }
});

test("forecasts as good as each other are told apart one time in twenty, a better one nearly always", () => {
  const random = seededRandom(77);
  const rejected = (edge: number) => {
    let count = 0;
    for (let draw = 0; draw < 400; draw++) {
      let last = 0;
      const gains = Float64Array.from({ length: 250 }, () => {
        last = 0.3 * last + random.normal();
        return last + edge;
      });
      if (dieboldMariano(gains).p! < 0.05) count++;
    }
    return count / 400;
  };
  const equal = rejected(0);
  assert.ok(equal > 0.02 && equal < 0.12, `${equal}`);
  assert.ok(rejected(0.5) > 0.95);
});

test("equal forecasts, and one date, have no t", () => {
  for (const gains of [new Float64Array(10), Float64Array.of(1), new Float64Array(0)]) {
    const { t, p } = dieboldMariano(gains);
    assert.deepEqual([t, p], [null, null]);
  }
});
