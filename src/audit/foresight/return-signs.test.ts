import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../../test/twins/random.ts";
import { featureOf, tickerHistory } from "./feature-history.ts";
import { LAST_RETURNS } from "./last-returns.ts";
import {
  judgeReturns,
  LATER_LIMIT,
  MAX_LAG,
  missingCorrelation,
  RETURN_LIMIT,
  type ReturnCorrelation,
  returnCorrelations,
} from "./return-signs.ts";

/** Spearman's correlation of the pairs without NaN, by counting and plain sums. */
function slowSpearman(pairs: readonly (readonly [number, number])[]): { c: number; n: number } {
  const present = pairs.filter((pair) => pair.every(Number.isFinite));
  const ranks = (side: 0 | 1) =>
    present.map(
      (pair) =>
        present.filter((other) => other[side] < pair[side]).length +
        present.filter((other) => other[side] === pair[side]).length / 2,
    );
  const [a, b] = [ranks(0), ranks(1)];
  const mean = present.length / 2;
  const product = (u: readonly number[], v: readonly number[]) =>
    u.reduce((sum, value, i) => sum + (value - mean) * (v[i]! - mean), 0);
  return { c: product(a, b) / Math.sqrt(product(a, a) * product(b, b)), n: present.length };
}

/** Spearman's partial correlation of the first column with the second given all others, by the recursive formula. */
function slowPartial(rows: readonly (readonly number[])[]): number {
  const present = rows.filter((row) => row.every(Number.isFinite));
  const pairs = (i: number, j: number) => present.map((row) => [row[i]!, row[j]!] as const);
  const given = (i: number, j: number, others: readonly number[]): number => {
    const [z, ...rest] = others;
    if (z === undefined) return slowSpearman(pairs(i, j)).c;
    const [ij, iz, jz] = [given(i, j, rest), given(i, z, rest), given(j, z, rest)];
    return (ij - iz * jz) / Math.sqrt((1 - iz ** 2) * (1 - jz ** 2));
  };
  return given(0, 1, [...rows[0]!.keys()].slice(2));
}

const DAYS = 260;

/** A ticker with gaps in its prices and features that hold a later return, ties and missing values. */
function gappyHistory(random: Random) {
  const days = Int32Array.from({ length: DAYS }, (_, i) => 18_000 + i + (i > 120 ? 30 : 0));
  let price = 100;
  const prices = Float64Array.from(days, () => {
    price *= Math.exp(0.02 * random.normal());
    return random.uniform() < 0.05 ? Number.NaN : price;
  });
  const lag = 1 + random.below(20);
  const features = [
    (i: number) => Math.log(prices[i + lag]! / prices[i + lag - 1]!) + 0.01 * random.normal(),
    () => random.below(4),
    (i: number) => prices[i + 1]!,
  ];
  const featureDays = days.filter((_, i) => i % 17 !== 3);
  const values = features.flatMap((feature) =>
    [...featureDays].map((day) => (random.uniform() < 0.03 ? Number.NaN : feature(days.indexOf(day)))),
  );
  const columns = ["later", "ties", "next"];
  return tickerHistory(
    { ticker: "S", days, prices },
    { ticker: "S", days: featureDays, columns, values: Float64Array.from(values, (v) => v ?? Number.NaN) },
    { start: days[0]!, end: days.at(-1)! },
  );
}

function near(actual: { c: number; n: number } | undefined, expected: { c: number; n: number }): void {
  assert.equal(actual?.n, expected.n);
  assert.ok(Math.abs(actual!.c - expected.c) < 1e-12, `${actual!.c} is not ${expected.c}`);
}

for (const seed of [1, 2]) {
  test(`every correlation, and what the last returns leave of one beyond the limit, equals plain loops, market ${seed}`, () => {
    const history = gappyHistory(seededRandom(seed));
    const { y, priceRows } = history;
    let partials = 0;
    for (const column of history.features.columns.keys()) {
      const feature = featureOf(history, column);
      const found = returnCorrelations(history, feature);
      const rows = [...feature.x.keys()];
      const value = (i: number) => feature.x[i]!;
      const change = (i: number) => feature.x[i]! - (feature.x[i - 1] ?? Number.NaN);
      const label = (i: number, lag = 1) => y[priceRows[i]! + lag - 1] ?? Number.NaN;
      const check = (actual: ReturnCorrelation | undefined, valueAt: (row: number) => number) => {
        near(actual, slowSpearman(rows.map((i) => [valueAt(i), label(i)] as const)));
        if (Math.abs(actual!.c) <= RETURN_LIMIT) return assert.equal(actual!.partial, undefined);
        const lags = Array.from({ length: LAST_RETURNS + 1 }, (_, ago) => 1 - ago);
        const partial = slowPartial(rows.map((i) => [valueAt(i), ...lags.map((lag) => label(i, lag))]));
        near({ c: actual!.partial!, n: 1 }, { c: partial, n: 1 });
        partials++;
      };
      check(found.level, value);
      check(found.change, change);
      near(found.size, slowSpearman(rows.map((i) => [change(i), Math.abs(label(i))] as const)));
      const strength = ({ c, n }: { c: number; n: number }) => Math.atanh(Math.abs(c)) * Math.sqrt(n - 3);
      const strongest = (labelOf: (i: number, lag: number) => number) =>
        Array.from({ length: MAX_LAG - 1 }, (_, k) => ({
          lag: k + 2,
          ...slowSpearman(rows.map((i) => [change(i), labelOf(i, k + 2)] as const)),
        }))
          .filter(({ c }) => Math.abs(c) > LATER_LIMIT)
          .sort((a, b) => strength(b) - strength(a))[0];
      const later = strongest(label);
      assert.equal(found.later?.lag, later?.lag);
      if (later !== undefined) {
        near(found.later, later);
        const level = slowSpearman(rows.map((i) => [value(i), label(i, later.lag)] as const));
        // The screening uses ranks among all rows.
        assert.ok(Math.abs(found.later!.signs.value! - level.c) < 0.1);
      }
      const sizes = strongest((i, lag) => Math.abs(label(i, lag)));
      assert.equal(found.laterSize?.lag, sizes?.lag);
      if (sizes !== undefined) near(found.laterSize, sizes);
      assert.equal(found.tests, 3 + 2 * (MAX_LAG - 1));
    }
    assert.ok(partials > 0);
  });
}

/** A ticker with a price on each of n dates, and one feature. */
function plainHistory(prices: Float64Array, values: Float64Array) {
  const days = prices.map((_, i) => 18_000 + i);
  const dates = Int32Array.from(days);
  const history = tickerHistory(
    { ticker: "S", days: dates, prices },
    { ticker: "S", days: dates, columns: ["x"], values },
    { start: days[0]!, end: days.at(-1)! },
  );
  return [history, featureOf(history, 0)] as const;
}

const uniform = (n: number, seed: number) => {
  const random = seededRandom(seed);
  return Float64Array.from({ length: n }, () => 100 + random.uniform());
};

test("a constant feature and one with fewer than 100 rows are not tested", () => {
  const prices = uniform(150, 4);
  for (const values of [prices.map(() => 3), uniform(150, 5).map((x, i) => (i < 60 ? Number.NaN : x))]) {
    const { tests, ...found } = returnCorrelations(...plainHistory(prices, values));
    assert.equal(tests, 0);
    assert.ok(Object.values(found).every((one) => one === undefined));
  }
});

test("if a feature contains only the last return, nothing is left beside it", () => {
  const prices = uniform(400, 5);
  const last = prices.map((price, i) => price / (prices[i - 1] ?? Number.NaN));
  const { level } = returnCorrelations(...plainHistory(prices, last));
  assert.ok(level!.c < -0.4);
  assert.equal(level!.partial, 0);
});

test("the effect of missing values is the share of pairs won minus the share lost, without rows that wait for a window", () => {
  const random = seededRandom(3);
  const values = Float64Array.from({ length: 400 }, (_, i) =>
    i < 10 || random.uniform() < 0.2 ? Number.NaN : i,
  );
  const [history, feature] = plainHistory(uniform(400, 3), values);
  const found = missingCorrelation(history, feature)!;
  const [first, last] = [values.findIndex(Number.isFinite), values.findLastIndex(Number.isFinite)];
  const rows = [...history.y.keys()].filter((i) => i >= first && i <= last && Number.isFinite(history.y[i]!));
  const gone = rows.filter((i) => Number.isNaN(values[i]!));
  const there = rows.filter((i) => !Number.isNaN(values[i]!));
  const won = gone.flatMap((i) => there.map((j) => Math.sign(history.y[i]! - history.y[j]!)));
  const effect = won.reduce((sum, one) => sum + one, 0) / won.length;
  assert.deepEqual([found.missing, found.n], [gone.length, rows.length]);
  assert.ok(Math.abs(found.effect - effect) < 1e-12, `${found.effect} is not ${effect}`);
  const waiting = values.map((_, i) => (i < 200 ? Number.NaN : i));
  assert.equal(missingCorrelation(...plainHistory(uniform(400, 4), waiting)), undefined);
});

const NONE = { level: undefined, change: undefined, size: undefined, later: undefined, laterSize: undefined };
const at = (c: number, n = 2_000) => ({ c, n });
const later = (c: number, value: number, other: number) => ({
  ...at(c),
  lag: 9,
  signs: { value, other: { c: other, lag: -9 } },
});
const beside = (c: number, partial: number) => ({ ...at(c), partial });
const codeOf = (correlations: Partial<Parameters<typeof judgeReturns>[0]>, needed = 5) =>
  judgeReturns({ ...NONE, ...correlations }, needed)?.code;

const CASES: readonly (readonly [what: string, correlations: Parameters<typeof codeOf>[0], code?: string])[] =
  [
    ["nothing beyond 0.2", { level: at(0.19), change: at(-0.19), size: at(0.24) }],
    ["a level beyond 0.2", { level: at(-0.3), change: at(0.2) }, "implausible_skill"],
    ["a change that stays below 1.2 levels", { level: at(0.3), change: at(0.35) }, "implausible_skill"],
    ["a change beyond 1.2 levels", { level: at(0.3), change: at(-0.37) }, "knows_next_price"],
    ["a change alone", { level: at(0.05), change: at(0.21) }, "knows_next_price"],
    ["a level beyond 0.9", { level: at(0.91), change: at(0.5) }, "knows_next_price"],
    ["a change that goes with the size", { size: at(-0.26) }, "knows_next_price"],
    ["a change that the last returns tell as well", { change: beside(-0.28, 0.02) }],
    ["a value that they tell as well", { level: beside(-0.95, 0.1), change: at(0.1) }],
    ["a change of which they leave much", { change: beside(-0.5, -0.21) }, "knows_next_price"],
    ["a change of which they take little", { change: beside(0.21, 0.19) }, "knows_next_price"],
    [
      "a value that they do not tell, and a change that they do",
      { level: beside(0.22, 0.25), change: beside(0.3, 0.1) },
      "implausible_skill",
    ],
    ["a later return", { later: later(0.21, 0.1, 0.3) }, "knows_later_return"],
    ["the next price and a later one", { change: at(0.4), later: later(0.6, 0.1, 0.3) }, "knows_next_price"],
    ["a later one and skill", { level: at(0.3), later: later(0.3, 0.1, 0.3) }, "knows_later_return"],
    [
      "the size of a later return",
      { laterSize: { ...at(0.26), lag: 9 }, size: at(0.2) },
      "knows_later_return",
    ],
    [
      "the size of all later returns, as volatility clusters",
      { laterSize: { ...at(0.26), lag: 9 }, size: at(0.24) },
    ],
  ];

for (const [name, correlations, code] of CASES) {
  test(`${name}: ${code ?? "no suspicion"}`, () => assert.equal(codeOf(correlations), code));
}

test("no correlation is suspected below the deviations that all tests require", () => {
  assert.equal(codeOf({ level: at(0.95, 100), change: at(0.5, 100) }, 30), undefined);
  assert.equal(codeOf({ level: at(0.3, 200), change: at(0.4, 200) }, 5), "knows_next_price");
  assert.equal(codeOf({ level: at(0.3, 200), change: at(0.4, 150) }, 5.2), undefined);
});

test("a change that correlates with returns at two places comes from a window; one that its value explains may be an honest lag", () => {
  const isWindow = (...signs: Parameters<typeof later>) =>
    !judgeReturns({ ...NONE, later: later(...signs) }, 5)!.isHonestLag;
  assert.equal(isWindow(0.65, 0.22, -0.65), true);
  assert.equal(isWindow(0.25, 0.05, 0.21), true);
  assert.equal(isWindow(0.41, 0.58, 0.05), false);
  assert.equal(isWindow(0.41, 0.1, 0.05), false);
  assert.equal(isWindow(0.41, 0.58, -0.41), false);
  assert.equal(isWindow(0.7, 0.95, 0.05), true);
});
