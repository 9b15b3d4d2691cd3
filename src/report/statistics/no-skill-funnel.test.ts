import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../test/twins/random.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { neweyWestT } from "../../evaluate/newey-west.ts";
import { dateSkill, isNear, slowBandQuantile, slowError } from "./dated-rows.testing.ts";
import { noSkillFunnel, noSkillMean } from "./no-skill-funnel.ts";
import { cumulative } from "./running-sums.ts";

test("the funnel after k dates is that of k values with the variance that all weighted pairs give", () => {
  const random = seededRandom(2);
  const values = Float64Array.from({ length: 120 }, () => 0.3 * random.normal() + 0.02);
  const deviation = slowError([...values]) * Math.sqrt(values.length);
  const funnel = noSkillFunnel(values);
  for (const [i, half] of funnel.entries()) {
    assert.ok(isNear(half, slowBandQuantile(120) * deviation * Math.sqrt(i + 1)));
  }
  assert.ok(isNear(noSkillMean(values, 63), (slowBandQuantile(120) * deviation) / Math.sqrt(63)));
});

test("the sum of all dates leaves the funnel exactly where the t is beyond the quantile", () => {
  const random = seededRandom(8);
  let outside = 0;
  for (let draw = 0; draw < 300; draw++) {
    const drift = 0.08 * random.uniform();
    const values = Float64Array.from({ length: 50 }, () => 0.3 * random.normal() + drift);
    const isOut = Math.abs(cumulative(values).at(-1)!) > noSkillFunnel(values).at(-1)!;
    assert.equal(isOut, Math.abs(neweyWestT(values)!) > slowBandQuantile(50));
    if (isOut) outside++;
  }
  assert.ok(outside > 30 && outside < 270, `${outside} of 300 are outside`);
});

/** Returns with a common factor, and forecasts that favour the same tickers for long, but know nothing. */
function withoutSkill(seed: number, tickers: number, dates: number): DatedForecasts[] {
  const random = seededRandom(seed);
  const factor = Array.from({ length: dates }, () => random.normal());
  return Array.from({ length: tickers }, (_, t) => {
    const beta = t / tickers;
    const taste = t / tickers + 0.2 * random.normal();
    return {
      ticker: `T${t}`,
      days: Int32Array.from({ length: dates }, (_, d) => d),
      predicted: Float64Array.from({ length: dates }, () => taste + 0.2 * random.normal()),
      realised: Float64Array.from(factor, (common) => 2 * beta * common + random.normal()),
    };
  });
}

test("without skill the sum ends outside one time in twenty, also where tickers move together", () => {
  let [outside, ofShuffled] = [0, 0];
  const draws = 300;
  for (let draw = 0; draw < draws; draw++) {
    const { ic, tickers } = dateSkill(withoutSkill(draw, 8, 150));
    const sum = Math.abs(cumulative(ic).at(-1)!);
    if (sum > noSkillFunnel(ic).at(-1)!) outside++;
    const shuffled = tickers.reduce((variance, n) => variance + 1 / (n - 1), 0);
    if (sum > 1.96 * Math.sqrt(shuffled)) ofShuffled++;
  }
  assert.ok(outside / draws > 0.02 && outside / draws < 0.1, `outside ${outside / draws}`);
  assert.ok(ofShuffled / draws > outside / draws, `outside that of shuffled forecasts ${ofShuffled / draws}`);
});

test("one date, and values that are all the same, have no funnel", () => {
  assert.ok(noSkillFunnel(Float64Array.of(1)).every(Number.isNaN));
  assert.ok(noSkillFunnel(Float64Array.of(1, 1, 1)).every(Number.isNaN));
  assert.ok(Number.isNaN(noSkillMean(Float64Array.of(1, 1, 1), 2)));
});
