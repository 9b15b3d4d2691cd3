import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../../test/twins/random.ts";
import { slowPartial, slowSpearman } from "./foresight-twin.testing.ts";
import {
  LAST_RETURNS,
  LATER_LIMIT,
  LabelRanks,
  MAX_LAG,
  RETURN_LIMIT,
  type ReturnCorrelation,
  returnCorrelations,
} from "./return-correlations.ts";
import { featureColumn, tickerHistory } from "./ticker-history.ts";

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

for (const seed of [1, 2, 3]) {
  test(`what the last returns leave of a level and a change beyond the limit equals plain loops, market ${seed}`, () => {
    const history = gappyHistory(seededRandom(seed));
    const { y, priceRows } = history;
    const labels = new LabelRanks(history);
    let partials = 0;
    for (const column of history.features.columns.keys()) {
      const feature = featureColumn(history, column);
      const { level, change } = returnCorrelations(history, feature, labels);
      const check = (found: ReturnCorrelation | undefined, valueAt: (row: number) => number) => {
        if (Math.abs(found!.c) <= RETURN_LIMIT) return assert.equal(found!.partial, undefined);
        const returns = Array.from({ length: LAST_RETURNS + 1 }, (_, ago) => ago);
        const rows = [...priceRows].map((at, i) => [
          valueAt(i),
          ...returns.map((ago) => y[at - ago] ?? Number.NaN),
        ]);
        near({ c: found!.partial!, n: 1 }, { c: slowPartial(rows), n: 1 });
        partials++;
      };
      check(level, (i) => feature.x[i]!);
      check(change, (i) => feature.x[i]! - (feature.x[i - 1] ?? Number.NaN));
    }
    assert.ok(partials > 0);
  });

  test(`level, change, size and the strongest later return equal plain loops, market ${seed}`, () => {
    const history = gappyHistory(seededRandom(seed));
    const { y, priceRows } = history;
    const labels = new LabelRanks(history);
    for (const column of history.features.columns.keys()) {
      const feature = featureColumn(history, column);
      const found = returnCorrelations(history, feature, labels);
      const rows = [...feature.x.keys()];
      const change = (i: number) => feature.x[i]! - (feature.x[i - 1] ?? Number.NaN);
      const label = (i: number, lag = 1) => y[priceRows[i]! + lag - 1] ?? Number.NaN;
      near(found.level, slowSpearman(rows.map((i) => [feature.x[i]!, label(i)] as const)));
      near(found.change, slowSpearman(rows.map((i) => [change(i), label(i)] as const)));
      near(found.size, slowSpearman(rows.map((i) => [change(i), Math.abs(label(i))] as const)));
      const laterOf = (labelOf: (i: number, lag: number) => number) =>
        Array.from({ length: MAX_LAG - 1 }, (_, k) => ({
          lag: k + 2,
          ...slowSpearman(rows.map((i) => [change(i), labelOf(i, k + 2)] as const)),
        }));
      const strength = ({ c, n }: { c: number; n: number }) => Math.atanh(Math.abs(c)) * Math.sqrt(n - 3);
      const strongestOf = (later: ReturnType<typeof laterOf>) =>
        later.filter(({ c }) => Math.abs(c) > LATER_LIMIT).sort((a, b) => strength(b) - strength(a))[0];
      const strong = strongestOf(laterOf(label));
      assert.equal(found.later?.lag, strong?.lag);
      if (strong !== undefined) {
        near(found.later, strong);
        const value = slowSpearman(rows.map((i) => [feature.x[i]!, label(i, strong.lag)] as const));
        // The screening uses ranks among all rows.
        assert.ok(Math.abs(found.later!.signs.value! - value.c) < 0.1);
      }
      const sizes = strongestOf(laterOf((i, lag) => Math.abs(label(i, lag))));
      assert.equal(found.laterSize?.lag, sizes?.lag);
      if (sizes !== undefined) near(found.laterSize, sizes);
      assert.equal(found.tests, 3 + 2 * (MAX_LAG - 1));
    }
  });
}

test("a constant feature and one with fewer than 100 rows are not tested", () => {
  const days = Int32Array.from({ length: 150 }, (_, i) => 18_000 + i);
  const random = seededRandom(4);
  const prices = Float64Array.from(days, () => 100 + random.uniform());
  const late = [...days.keys()].map((i) => (i < 60 ? Number.NaN : random.normal()));
  const values = Float64Array.from([...new Array(150).fill(3), ...late]);
  const history = tickerHistory(
    { ticker: "S", days, prices },
    { ticker: "S", days, columns: ["constant", "late"], values },
    { start: days[0]!, end: days.at(-1)! },
  );
  const labels = new LabelRanks(history);
  for (const column of [0, 1]) {
    const { level, change, size, later, tests } = returnCorrelations(
      history,
      featureColumn(history, column),
      labels,
    );
    assert.deepEqual(
      { level, change, size, later, tests },
      { level: undefined, change: undefined, size: undefined, later: undefined, tests: 0 },
    );
  }
});

test("if a feature contains only the last return, nothing is left beside it", () => {
  const random = seededRandom(5);
  const days = Int32Array.from({ length: 400 }, (_, i) => 18_000 + i);
  const prices = Float64Array.from(days, () => 100 + random.uniform());
  const last = prices.map((price, i) => price / (prices[i - 1] ?? Number.NaN));
  const history = tickerHistory(
    { ticker: "S", days, prices },
    { ticker: "S", days, columns: ["last"], values: last },
    { start: days[0]!, end: days.at(-1)! },
  );
  const { level } = returnCorrelations(history, featureColumn(history, 0), new LabelRanks(history));
  assert.ok(level!.c < -0.4);
  assert.equal(level!.partial, 0);
});
