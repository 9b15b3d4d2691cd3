import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../../test/twins/random.ts";
import type { DatedForecasts, ForecastRows } from "../../evaluate/forecast-rows.ts";
import { crossSectionOf } from "../../evaluate/tables.testing.ts";
import { BLOCK_DATES, blockPermutations, permutedSkill, skillParts } from "./skill-parts.ts";

/** Returns with a common factor, and forecasts that hold a share `skill` of each; some rows are missing. */
function forecasts(skill: number, random: Random, dates = 250): ForecastRows[] {
  const factor = Array.from({ length: dates }, () => random.normal());
  return Array.from({ length: 8 }, (_, t) => {
    const days = Int32Array.from({ length: dates }, (_, i) => 18_000 + 2 * i).filter(
      () => random.uniform() > 0.05,
    );
    const realised = Float64Array.from(days, (day) => factor[(day - 18_000) / 2]! + random.normal());
    const predicted = realised.map((y) => skill * y + random.normal());
    return { ticker: `S${t}`, days, predicted, realised, trainingMean: new Float64Array(days.length) };
  });
}

test("orders of blocks contain every date once, in runs of a block, and are reproducible", () => {
  for (const n of [81, 100, 333]) {
    for (const order of blockPermutations(n, 5)) {
      assert.deepEqual(
        [...order].sort((a, b) => a - b),
        [...order.keys()],
      );
      for (let i = 1; i < n; i++) {
        assert.ok(order[i] === order[i - 1]! + 1 || order[i]! % BLOCK_DATES === 0);
      }
    }
    assert.deepEqual([...blockPermutations(n, 3)], [...blockPermutations(n, 3)]);
  }
  assert.equal(new Set([...blockPermutations(200, 30)].map(String)).size, 30);
});

test("the means of permuted labels equal plain loops", () => {
  const rows = forecasts(0.02, seededRandom(2));
  const days = [...new Set(rows.flatMap((row) => [...row.days]))].sort((a, b) => a - b);
  const means = [...blockPermutations(days.length, 6)].map((order) => {
    const source = new Map(days.map((day, at) => [day, days[order[at]!]!]));
    const moved = rows.map((row) => {
      const label = (day: number) => row.realised[row.days.indexOf(source.get(day)!)] ?? Number.NaN;
      const kept = row.days.filter((day) => !Number.isNaN(label(day)));
      const predicted = Float64Array.from(kept, (day) => row.predicted[row.days.indexOf(day)]!);
      return { ...row, days: kept, predicted, realised: Float64Array.from(kept, label) };
    });
    return crossSectionOf(moved).ic_mean!;
  });
  const found = permutedSkill(rows, 6)!;
  const { ic_mean, dates } = crossSectionOf(rows);
  assert.ok(Math.abs(found.icMean! - ic_mean!) < 1e-12);
  assert.equal(found.dates, dates);
  assert.ok(Math.abs(found.highestPermuted - Math.max(...means)) < 1e-12);
  assert.equal(found.rank, 1 + means.filter((mean) => mean >= found.icMean!).length);
  assert.equal(found.p, found.rank / 7);
});

test("skill is first among its permutations, and shuffled labels are anywhere", () => {
  assert.equal(permutedSkill(forecasts(0.3, seededRandom(3)), 19)!.p, 0.05);
  const ps = Array.from(
    { length: 40 },
    (_, seed) => permutedSkill(forecasts(0, seededRandom(100 + seed)), 19)!.p,
  );
  // Uniform in twentieths: 4 of 40 are expected at 0.1 or less, 20 at 0.5 or less.
  assert.ok(ps.filter((p) => p <= 0.1).length <= 10, String(ps));
  const half = ps.filter((p) => p <= 0.5).length;
  assert.ok(half >= 11 && half <= 29, String(half));
});

test("fewer than five blocks, two tickers, and unknown labels are not judged", () => {
  assert.equal(permutedSkill(forecasts(1, seededRandom(4), 80), 19), undefined);
  assert.equal(permutedSkill(forecasts(1, seededRandom(5)).slice(0, 2), 19), undefined);
  assert.equal(permutedSkill([], 19), undefined);
  const open = forecasts(1, seededRandom(6)).map((row) => ({
    ...row,
    realised: row.realised.map(() => Number.NaN),
  }));
  assert.equal(permutedSkill(open, 19), undefined);
});

const TICKERS = 20;
const DATES = 300;

/** @param forecast a ticker's next return from its earlier returns, and from how much it is permanently better than the others. */
function market(
  random: Random,
  forecast: (next: number, past: readonly number[], quality: number) => number,
): DatedForecasts[] {
  const days = Int32Array.from({ length: DATES }, (_, i) => 18_000 + i);
  return Array.from({ length: TICKERS }, (_, t) => {
    const quality = 0.2 * random.normal();
    const returns = Array.from(days, () => quality + random.normal());
    const predicted = Float64Array.from(days, (_, i) => forecast(returns[i]!, returns.slice(0, i), quality));
    return { ticker: `S${t}`, days, predicted, realised: Float64Array.from(returns) };
  });
}

const partsOf = (...given: Parameters<typeof market>) => skillParts(market(...given), 19)!;

test("forecasts that know which tickers are better have lasting skill, and those that know the next return timing", () => {
  const random = seededRandom(1);
  const better = partsOf(random, (_, __, quality) => quality + 0.2 * random.normal());
  assert.ok(better.lasting.icMean! > 0.1 && better.lasting.t! > 10, JSON.stringify(better));
  assert.ok(Math.abs(better.timing.icMean!) < 0.03, JSON.stringify(better));
  const timely = partsOf(random, (next, _, quality) => next - quality + 3 * random.normal());
  assert.ok(timely.timing.icMean! > 0.2 && timely.timing.p === 0.05, JSON.stringify(timely));
  assert.ok(Math.abs(timely.lasting.icMean!) < 0.04, JSON.stringify(timely));
});

test("forecasts without skill show none in either part, even if they follow past returns", () => {
  const random = seededRandom(3);
  let [lastingFound, timingFound] = [0, 0];
  const markets = 20;
  for (let k = 0; k < markets; k++) {
    const { lasting, timing } = partsOf(random, (_, past, quality) => {
      const month = past.slice(-20);
      return month.reduce((sum, value) => sum + value - quality, 0) / 20;
    });
    if (lasting.t! >= lasting.quantile! && lasting.p <= 0.05) lastingFound++;
    if (timing.p <= 0.05) timingFound++;
  }
  // One of 20 is expected; a mean over all dates would show skill in nearly all of them.
  assert.ok(lastingFound <= 4, String(lastingFound));
  assert.ok(timingFound <= 5, String(timingFound));
});

test("the means of earlier forecasts do not depend on later ones", () => {
  const random = seededRandom(4);
  const rows = market(random, () => random.normal());
  const changed = rows.map((row) => ({
    ...row,
    predicted: row.predicted.map((value, i) => (i < 200 ? value : 9 + value)),
    realised: row.realised.map((value, i) => (i < 200 ? value : Number.NaN)),
  }));
  const cut = rows.map((row) => ({
    ...row,
    days: row.days.slice(0, 200),
    predicted: row.predicted.slice(0, 200),
    realised: row.realised.slice(0, 200),
  }));
  assert.deepEqual(skillParts(changed, 19), skillParts(cut, 19));
});
