import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../test/twins/random.ts";
import type { ForecastRows } from "./forecast-rows.ts";
import { permutationImportance } from "./permutation-importance.ts";
import { averageRanks } from "./rank.ts";
import { correlation, mean } from "./statistics.ts";

/** Features in the order of their columns: the coefficient in the labels, and that of a model that learned them with an error. */
interface Feature {
  readonly effect: number;
  readonly learned: number;
}

/** Labels and forecasts that are sums of features and noise, and the forecasts with each feature shuffled within dates. */
function market(random: Random, features: readonly Feature[], tickers: number, dates: number) {
  const x = features.map(() => Array.from({ length: tickers * dates }, () => random.normal()));
  const noise = x[0]!.map(() => random.normal());
  const sum = (values: readonly number[][], weight: (feature: Feature) => number, i: number) =>
    features.reduce((total, feature, f) => total + weight(feature) * values[f]![i]!, 0);
  // Ticker t has the rows t, t + tickers, …
  const ofTicker = (at: (i: number) => number, t: number) =>
    Float64Array.from({ length: dates }, (_, d) => at(d * tickers + t));
  const rows = Array.from({ length: tickers }, (_, t): ForecastRows => {
    const realised = ofTicker((i) => noise[i]! + sum(x, ({ effect }) => effect, i), t);
    const predicted = ofTicker((i) => sum(x, ({ learned }) => learned, i), t);
    const days = Int32Array.from({ length: dates }, (_day, d) => 100 + d);
    return { ticker: `T${t}`, days, realised, predicted, trainingMean: realised.map(() => 0) };
  });
  const permuted = features.map((_, f) => {
    const order = Array.from({ length: dates }, (_day, d) =>
      random.shuffled(Array.from({ length: tickers }, (_t, t) => d * tickers + t)),
    ).flat();
    const shuffled = x.with(
      f,
      order.map((i) => x[f]![i]!),
    );
    return rows.map((_row, t) => ofTicker((i) => sum(shuffled, ({ learned }) => learned, i), t));
  });
  return { rows, permuted };
}

const USEFUL = { effect: 0.15, learned: 0.13 };
const USELESS = { effect: 0, learned: 0.02 };

test("the loss is the mean difference of the RankICs of each date", () => {
  const { rows, permuted } = market(seededRandom(1), [USEFUL, USELESS, { effect: 0, learned: 0 }], 7, 60);
  const found = permutationImportance(rows, permuted);
  const rankIcs = (forecasts: readonly Float64Array[]) =>
    Array.from({ length: 60 }, (_, d) => {
      const side = (values: readonly Float64Array[]) =>
        averageRanks(Float64Array.from(values, (value) => value[d]!));
      return correlation(side(forecasts), side(rows.map(({ realised }) => realised)))!;
    });
  const whole = rankIcs(rows.map(({ predicted }) => predicted));
  assert.equal(found.form, "cross_section");
  assert.equal(found.dates, 60);
  assert.ok(Math.abs(found.figure! - mean(Float64Array.from(whole))) < 1e-12);
  for (const [g, { loss }] of found.groups.entries()) {
    const own = rankIcs(permuted[g]!);
    const slow = mean(Float64Array.from(whole, (value, d) => value - own[d]!));
    assert.ok(Math.abs(loss! - slow) < 1e-12);
  }
  assert.deepEqual(found.groups[2], { loss: 0, t: null });
});

test("few tickers are judged over time, and nothing without dates", () => {
  const { rows, permuted } = market(seededRandom(3), [{ effect: 1, learned: 1 }, USELESS], 2, 300);
  const found = permutationImportance(rows, permuted);
  assert.equal(found.form, "time_series");
  assert.equal(found.dates, 295);
  assert.ok(found.groups[0]!.t! > 2.5);
  const empty = permutationImportance([], [[]]);
  assert.deepEqual(
    { ...empty, form: "", groups: empty.groups },
    {
      ...{ form: "", dates: 0, figure: null, quantile: null, method: "newey_west_5" },
      groups: [{ loss: null, t: null }],
    },
  );
});
