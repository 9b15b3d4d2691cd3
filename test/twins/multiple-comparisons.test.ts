import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { meanBlockLength, stationaryResamples } from "../../src/report/statistics/block-bootstrap.ts";
import { modelConfidenceSet } from "../../src/report/statistics/model-confidence-set.ts";
import { superiorAbility } from "../../src/report/statistics/superior-ability.ts";
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

for (const { seed, models, dates, edge } of CASES) {
  test(`the confidence set and the superior ability are those of arch: ${models} models, ${dates} dates, edge ${edge}`, () => {
    const own = losses(seed, models, dates, edge);
    const benchmark = losses(seed, 1, dates, 0)[0]!.map((loss, i) => loss + 0.1 * Math.sin(i));
    // Some beat the benchmark and some do not.
    const gains = own.map((values, k) => values.map((loss, i) => benchmark[i]! - loss + 0.12 * (k % 3)));
    const resamples = stationaryResamples(dates, DRAWS);
    const block = meanBlockLength(dates);
    const theirs = byArch({
      losses: own.map((values) => [...values]),
      gains: gains.map((values) => [...values]),
      block,
      resamples: Array.from(resamples, (drawn) => [...drawn]),
    });
    assert.deepEqual(modelConfidenceSet(own, resamples), theirs.set);
    const { p, lower, upper } = superiorAbility(gains, resamples)!;
    assert.deepEqual({ consistent: p, lower, upper }, theirs.ability);
  });
}

interface Asked {
  readonly losses: number[][];
  readonly gains: number[][];
  readonly block: number;
  readonly resamples: number[][];
}

interface Answer {
  readonly set: number[];
  readonly ability: { readonly lower: number; readonly consistent: number; readonly upper: number };
}

function byArch(asked: Asked): Answer {
  const { python } = findEnvironment("dev");
  const { status, stdout, stderr } = spawnSync(python, ["test/twins/multiple_comparisons.py"], {
    input: JSON.stringify(asked),
    encoding: "utf8",
    maxBuffer: 1e8,
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as Answer;
}
