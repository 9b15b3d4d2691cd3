import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { meanBlockLength, stationaryResamples } from "../../src/report/statistics/block-bootstrap.ts";
import { modelConfidenceSet } from "../../src/report/statistics/model-confidence-set.ts";
import { bySample, superiorAbility } from "../../src/report/statistics/superior-ability.ts";
import { seededRandom } from "./random.ts";

const DRAWS = 300;

/** Losses of models that share much of each date, some of them worse than others. */
function losses(seed: number, models: number, dates: number, edge: number): Float64Array[] {
  const random = seededRandom(seed);
  const common = Array.from({ length: dates }, () => random.normal());
  return Array.from({ length: models }, (_, k) => {
    let last = 0;
    return Float64Array.from(common, (shared) => {
      last = 0.3 * last + random.normal();
      return 2 + shared + 0.4 * last + edge * k;
    });
  });
}

const CASES = [
  { seed: 1, models: 2, dates: 40, edge: 0 },
  { seed: 2, models: 3, dates: 120, edge: 0.08 },
  { seed: 3, models: 8, dates: 250, edge: 0 },
  { seed: 4, models: 8, dates: 250, edge: 0.03 },
  { seed: 5, models: 5, dates: 90, edge: 0.2 },
];

test("the confidence set and the superior ability equal those of arch, on the same resampled dates", () => {
  const cases = CASES.map(comparedCase);
  const theirs = byArch(
    cases.map(({ own, gains, resamples }) => ({
      losses: own.map((values) => [...values]),
      gains: gains.map((values) => [...values]),
      block: meanBlockLength(own[0]!.length),
      resamples: resamples.map((drawn) => [...drawn]),
    })),
  );
  const found = cases.map(({ own, gains, resamples }) => {
    const { p, lower, upper } = superiorAbility(gains, resamples, bySample(meanBlockLength(own[0]!.length)))!;
    return { set: modelConfidenceSet(own, resamples), ability: { lower, consistent: p, upper } };
  });
  assert.deepEqual(found, theirs);
  const all = found.flatMap(({ set, ability }) => [...set, ability.consistent]);
  const inside = all.filter((p) => p > 0 && p < 1);
  assert.ok(new Set(inside).size >= 8, `only ${inside} are neither 0 nor 1`);
});

/** Some models beat the benchmark and some do not. */
function comparedCase({ seed, models, dates, edge }: (typeof CASES)[number]) {
  const own = losses(seed, models, dates, edge);
  const benchmark = losses(seed, 1, dates, 0)[0]!.map((loss, i) => loss + 0.1 * Math.sin(i));
  const gains = own.map((values, k) => values.map((loss, i) => benchmark[i]! - loss + 0.12 * (k % 3)));
  return { own, gains, resamples: stationaryResamples(dates, DRAWS) };
}

interface Comparison {
  readonly losses: number[][];
  readonly gains: number[][];
  readonly block: number;
  readonly resamples: number[][];
}

interface Answer {
  readonly set: number[];
  readonly ability: { readonly lower: number; readonly consistent: number; readonly upper: number };
}

function byArch(asked: readonly Comparison[]): Answer[] {
  const { python } = findEnvironment("dev");
  const { status, stdout, stderr } = spawnSync(python, ["test/twins/multiple_comparisons.py"], {
    input: JSON.stringify(asked),
    encoding: "utf8",
    maxBuffer: 1e8,
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as Answer[];
}
