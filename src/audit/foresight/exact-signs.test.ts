import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../test/twins/random.ts";
import { laterCopy } from "./equal-values.ts";
import { missingnessTest, unpricedRows, unpricedValues, usualShare } from "./missing-values.ts";
import { addValues, hasManyValues, isStandard, isStandardAtEndOnly, noSums } from "./standardised.ts";
import { featureColumn, tickerHistory } from "./ticker-history.ts";

const N = 400;
const DAYS = Int32Array.from({ length: N }, (_, i) => 18_000 + i);
const WINDOW = { start: DAYS[0]!, end: DAYS[N - 1]! };

function walk(seed: number): Float64Array {
  const random = seededRandom(seed);
  let price = 50;
  return Float64Array.from(DAYS, () => (price *= Math.exp(0.02 * random.normal())));
}

/** A ticker with one feature. */
function historyOf(prices: Float64Array, feature: (i: number) => number | undefined, delay = 0) {
  const values = Float64Array.from(DAYS, (_, i) => feature(i) ?? Number.NaN);
  return tickerHistory(
    { ticker: "S", days: DAYS, prices },
    { ticker: "S", days: DAYS, columns: ["x"], values },
    { ...WINDOW, delay },
  );
}

function copyOf(prices: Float64Array, feature: (i: number) => number | undefined, delay = 0) {
  const history = historyOf(prices, feature, delay);
  const copy = laterCopy(history, featureColumn(history, 0));
  return copy && [copy.of, copy.lag];
}

test("a later price or return is found, scaled, shifted, and over several days", () => {
  const p = walk(1);
  const log = (i: number, h: number) => Math.log(p[i + h]! / p[i]!);
  assert.deepEqual(
    copyOf(p, (i) => p[i + 1]),
    ["price", 1],
  );
  assert.deepEqual(
    copyOf(p, (i) => -3 * p[i + 63]! + 7),
    ["price", 63],
  );
  assert.deepEqual(
    copyOf(p, (i) => 100 * log(i, 1)),
    ["return", 1],
  );
  assert.deepEqual(
    copyOf(p, (i) => log(i + 4, 1)),
    ["return", 5],
  );
  assert.deepEqual(
    copyOf(p, (i) => p[i + 3]! / p[i + 2]! - 1),
    ["simple_return", 3],
  );
  assert.deepEqual(
    copyOf(p, (i) => log(i, 20)),
    ["return_over_days", 20],
  );
  assert.deepEqual(
    copyOf(p, (i) => p[i + 10]! / p[i]!),
    ["simple_return_over_days", 10],
  );
});

test("with a delay, prices up to the trade are known, and that of the label date is not", () => {
  const p = walk(1);
  assert.equal(
    copyOf(p, (i) => p[i + 2], 2),
    undefined,
  );
  assert.deepEqual(
    copyOf(p, (i) => p[i + 3], 2),
    ["price", 3],
  );
  assert.deepEqual(
    copyOf(p, (i) => Math.log(p[i + 3]! / p[i + 2]!), 2),
    ["return", 3],
  );
});

test("a value known at the date is not a copy, nor is one that differs in the eighth digit", () => {
  const p = walk(2);
  assert.equal(
    copyOf(p, (i) => p[i]),
    undefined,
  );
  assert.equal(
    copyOf(p, (i) => p[i - 5]),
    undefined,
  );
  assert.equal(
    copyOf(p, (i) => Math.log(p[i]! / p[i - 1]!)),
    undefined,
  );
  assert.equal(
    copyOf(p, () => 1),
    undefined,
  );
  assert.equal(
    copyOf(p, (i) => i % 5),
    undefined,
  );
  assert.equal(
    copyOf(p, (i) => p[i + 1]! * (1 + (i === 200 ? 1e-8 : 0))),
    undefined,
  );
});

test("repeated prices do not make a copy of a known price look like a copy of a later one", () => {
  const periodic = Float64Array.from(DAYS, (_, i) => 100 + 5 * Math.sin((2 * Math.PI * i) / 20));
  assert.equal(
    copyOf(periodic, (i) => periodic[i]),
    undefined,
  );
  assert.equal(
    copyOf(periodic, (i) => periodic[i - 7]),
    undefined,
  );
  const straight = Float64Array.from(DAYS, (_, i) => 100 + i);
  assert.equal(
    copyOf(straight, (i) => straight[i]),
    undefined,
  );
});

test("the effect of missing values is the share of pairs won minus the share lost", () => {
  const random = seededRandom(3);
  const history = historyOf(walk(3), (i) => (i < 10 || random.uniform() < 0.2 ? Number.NaN : i));
  const column = featureColumn(history, 0);
  const found = missingnessTest(history, column)!;
  const first = column.x.findIndex(Number.isFinite);
  const last = column.x.findLastIndex(Number.isFinite);
  const rows = [...history.y.keys()].filter((i) => i >= first && i <= last && Number.isFinite(history.y[i]!));
  const gone = rows.filter((i) => Number.isNaN(column.x[i]!));
  const there = rows.filter((i) => !Number.isNaN(column.x[i]!));
  const won = gone.flatMap((i) => there.map((j) => Math.sign(history.y[i]! - history.y[j]!)));
  const effect = won.reduce((sum, one) => sum + one, 0) / won.length;
  assert.equal(found.missing, gone.length);
  assert.equal(found.n, rows.length);
  assert.ok(Math.abs(found.effect - effect) < 1e-12, `${found.effect} is not ${effect}`);
});

test("rows that wait for a window are not missing", () => {
  const history = historyOf(walk(4), (i) => (i < 200 ? Number.NaN : i));
  assert.equal(missingnessTest(history, featureColumn(history, 0)), undefined);
});

test("values without a price are classified: carried forward, filled from later ones, on a line, independent", () => {
  const prices = walk(5);
  for (const day of [50, 51, 52, 100, 150]) prices[day] = Number.NaN;
  const x = (fill: (i: number) => number) => (i: number) => (Number.isNaN(prices[i]!) ? fill(i) : i * i);
  const count = (fill: (i: number) => number) => {
    const history = historyOf(prices, x(fill));
    return unpricedValues(history, 0, unpricedRows(history, WINDOW));
  };
  const [before, after] = [(i: number) => (i < 60 ? 49 : i - 1), (i: number) => (i < 60 ? 53 : i + 1)];
  const line = (i: number) =>
    before(i) ** 2 + ((i - before(i)) / (after(i) - before(i))) * (after(i) ** 2 - before(i) ** 2);
  assert.deepEqual(
    count((i) => before(i) ** 2),
    { values: 5, fromLater: 0, fromEarlier: 5 },
  );
  assert.deepEqual(
    count((i) => after(i) ** 2),
    { values: 5, fromLater: 5, fromEarlier: 0 },
  );
  assert.deepEqual(count(line), { values: 5, fromLater: 5, fromEarlier: 0 });
  assert.deepEqual(
    count((i) => Math.sin(i)),
    { values: 5, fromLater: 0, fromEarlier: 0 },
  );
  assert.deepEqual(
    count(() => Number.NaN),
    { values: 0, fromLater: 0, fromEarlier: 0 },
  );
});

test("weekdays, steps and few ranks are on a line without being filled; freely moving values are not", () => {
  const prices = walk(5);
  const share = (value: (i: number) => number) => usualShare(historyOf(prices, value), 0);
  assert.ok(share((i) => i % 5) > 0.5);
  assert.ok(share((i) => Math.floor(i / 20)) > 0.5);
  assert.ok(share((i) => Math.round(Math.sin(i * i))) > 0.1);
  assert.equal(
    share((i) => Math.sin(i * i)),
    0,
  );
});

test("scores over the whole sample are standardised only at its end; scores over each part are not reported", () => {
  const random = seededRandom(6);
  const raw = Float64Array.from(DAYS, () => 3 + 2 * random.normal());
  const sums = (values: Float64Array) => {
    const whole = noSums();
    addValues(whole, values);
    return whole;
  };
  for (const ddof of [0, 1]) {
    const { n, sum, squares } = sums(raw);
    const deviation = Math.sqrt((squares - (sum * sum) / n) / (n - ddof));
    const scores = raw.map((value) => Math.round(1e7 * ((value - sum / n) / deviation)) / 1e7);
    assert.ok(isStandardAtEndOnly(sums(scores), sums(scores.subarray(0, N / 2))));
    assert.ok(!isStandard(sums(scores.subarray(0, N - 1))));
    assert.ok(hasManyValues(scores));
  }
  assert.ok(!isStandard(sums(raw)));
  const signs = Float64Array.from(DAYS, (_, i) => (i % 2 === 0 ? 1 : -1));
  assert.ok(!isStandardAtEndOnly(sums(signs), sums(signs.subarray(0, N / 2))));
  assert.ok(!hasManyValues(signs));
});
