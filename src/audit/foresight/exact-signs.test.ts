import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../test/twins/random.ts";
import { countFilled, findCopy, findScaled, shareFilled } from "./exact-signs.ts";
import { featureOf, tickerHistory } from "./feature-history.ts";

const N = 400;
const DAYS = Int32Array.from({ length: N }, (_, i) => 18_000 + i);

function walk(seed: number): Float64Array {
  const random = seededRandom(seed);
  let price = 50;
  return Float64Array.from(DAYS, () => (price *= Math.exp(0.02 * random.normal())));
}

type Values = (i: number) => number | undefined;

/** A ticker with one feature. */
function ticker(prices: Float64Array, feature: Values, delay = 0) {
  const values = Float64Array.from(DAYS, (_, i) => feature(i) ?? Number.NaN);
  const history = tickerHistory(
    { ticker: "S", days: DAYS, prices },
    { ticker: "S", days: DAYS, columns: ["x"], values },
    { start: DAYS[0]!, end: DAYS[N - 1]!, delay },
  );
  return [history, featureOf(history, 0)] as const;
}

function copyOf(prices: Float64Array, feature: Values, delay = 0) {
  const copy = findCopy(...ticker(prices, feature, delay))?.figures;
  return copy && `${copy.of} ${copy.lag}`;
}

const p = walk(1);
const log = (i: number, h: number) => Math.log(p[i + h]! / p[i]!);
const periodic = Float64Array.from(DAYS, (_, i) => 100 + 5 * Math.sin((2 * Math.PI * i) / 20));
const straight = Float64Array.from(DAYS, (_, i) => 100 + i);

type Case = readonly [what: string, feature: Values, copy?: string | undefined, prices?: Float64Array];
const COPIES: readonly Case[] = [
  ["the next price", (i) => p[i + 1], "price 1"],
  ["a later price, scaled and shifted", (i) => -3 * p[i + 63]! + 7, "price 63"],
  ["the next return", (i) => 100 * log(i, 1), "return 1"],
  ["a later return", (i) => log(i + 4, 1), "return 5"],
  ["a later simple return", (i) => p[i + 3]! / p[i + 2]! - 1, "simple_return 3"],
  ["the return over the next 20 dates", (i) => log(i, 20), "return_over_days 20"],
  ["the simple return over the next 10", (i) => p[i + 10]! / p[i]!, "simple_return_over_days 10"],
  ["the price", (i) => p[i]],
  ["an earlier price", (i) => p[i - 5]],
  ["the last return", (i) => log(i - 1, 1)],
  ["a constant", () => 1],
  ["the weekday", (i) => i % 5],
  ["the next price but for the eighth digit", (i) => p[i + 1]! * (1 + (i === 200 ? 1e-8 : 0))],
  ["an earlier price that repeats", (i) => periodic[i - 7], undefined, periodic],
  ["a price that rises by the same amount each day", (i) => straight[i], undefined, straight],
];

for (const [what, feature, copy, prices = p] of COPIES)
  test(`${what} is ${copy === undefined ? "no copy" : "a copy"} of a later value`, () =>
    assert.equal(copyOf(prices, feature), copy));

test("with a delay, a feature may know the prices up to the trade, but not the price of the label date", () => {
  const features = [(i: number) => p[i + 2], (i: number) => p[i + 3], (i: number) => log(i + 2, 1)];
  const copies = features.map((feature) => copyOf(p, feature, 2));
  assert.deepEqual(copies, [undefined, "price 3", "return 3"]);
});

test("values without a price are classified: carried forward, filled from later ones, on a line, independent", () => {
  const prices = walk(5);
  for (const day of [50, 51, 52, 100, 150]) prices[day] = Number.NaN;
  const [before, after] = [(i: number) => (i < 60 ? 49 : i - 1), (i: number) => (i < 60 ? 53 : i + 1)];
  const line = (i: number) =>
    before(i) ** 2 + ((i - before(i)) / (after(i) - before(i))) * (after(i) ** 2 - before(i) ** 2);
  for (const [fill, values, fromLater, fromEarlier] of [
    [(i: number) => before(i) ** 2, 5, 0, 5],
    [(i: number) => after(i) ** 2, 5, 5, 0],
    [line, 5, 5, 0],
    [Math.sin, 5, 0, 0],
    [() => Number.NaN, 0, 0, 0],
  ] as const) {
    const [history, feature] = ticker(prices, (i) => (Number.isNaN(prices[i]!) ? fill(i) : i * i));
    assert.deepEqual(countFilled(history, feature, history.unpricedRows), { values, fromLater, fromEarlier });
  }
});

test("weekdays, steps and few ranks are on a line without being filled; freely moving values are not", () => {
  const share = (value: Values) => {
    const [history, feature] = ticker(p, value);
    return shareFilled(countFilled(history, feature, history.featureRows.subarray(1, -1)));
  };
  assert.ok(share((i) => i % 5) > 0.5);
  assert.ok(share((i) => Math.floor(i / 20)) > 0.5);
  assert.ok(share((i) => Math.round(Math.sin(i * i))) > 0.1);
  const free = share((i) => Math.sin(i * i));
  assert.equal(free, 0);
});

test("finds z-scores and extremes of the whole sample, and accepts those of a part, signs and oscillators", () => {
  const random = seededRandom(6);
  const raw = Float64Array.from(DAYS, (_, i) => 3 + i / N + 2 * random.normal());
  const isFound = (values: Float64Array) => findScaled({ name: "x", all: values, x: values, dx: values });
  const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
  const mean = sum(raw) / N;
  for (const ddof of [0, 1]) {
    const deviation = Math.sqrt(sum(raw.map((value) => (value - mean) ** 2)) / (N - ddof));
    const scores = raw.map((value) => Math.round(1e7 * ((value - mean) / deviation)) / 1e7);
    assert.equal(
      isFound(scores)?.text,
      "has mean 0 and standard deviation 1 over all its 400 values, but not over the earlier ones alone",
    );
    assert.equal(isFound(scores.subarray(0, N - 1)), undefined);
  }
  assert.equal(isFound(raw), undefined);
  assert.equal(isFound(Float64Array.from(DAYS, (_, i) => (i % 2 === 0 ? 1 : -1))), undefined);
  const scaled = Float64Array.from(DAYS, (_, i) => (i === N - 1 ? N : (37 * i) % N) / N);
  assert.match(isFound(scaled)!.text, /^reaches each end of its scale once/);
  const early = scaled.map((value, i) => (i === 9 ? 1 : i === N - 1 ? 0.5 : value));
  assert.equal(isFound(early), undefined);
  assert.equal(isFound(scaled.map((value) => Math.min(1, 2 * value))), undefined);
});
