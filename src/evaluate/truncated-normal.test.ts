import assert from "node:assert/strict";
import { test } from "node:test";
import { truncatedMean } from "./truncated-normal.ts";

/** The mean by Simpson's rule, and its distance from 1, over the part of [0, 1] outside of which the density is below e^-40 of its maximum. */
function slowMeans(centre: number, deviation: number): [mean: number, fromOne: number] {
  const peak = Math.max(0, Math.min(1, centre));
  const scale = Math.min(deviation, deviation ** 2 / (Math.abs(centre - peak) || Number.MIN_VALUE));
  const [from, to] = [Math.max(0, peak - 40 * scale), Math.min(1, peak + 40 * scale)];
  const steps = 40_000;
  let [weights, mean, fromOne] = [0, 0, 0];
  for (let i = 0; i <= steps; i++) {
    const x = from + ((to - from) * i) / steps;
    const log = -((x - peak) * (x + peak - 2 * centre)) / (2 * deviation ** 2);
    const weight = (i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2) * Math.exp(log);
    weights += weight;
    mean += weight * x;
    fromOne += weight * (1 - from - ((to - from) * i) / steps);
  }
  return [mean / weights, fromOne / weights];
}

test("the mean is that of a dense sum, with its digits in both tails", () => {
  for (const deviation of [0.25, 0.2, 0.1, 0.03, 0.01]) {
    for (const centre of [-3, -1, -0.3, -0.05, 0, 0.01, 0.2, 0.3, 0.5, 0.500001, 0.7, 1, 1.05, 1.3, 2, 4]) {
      const [mean, fromOne] = slowMeans(centre, deviation);
      const found = truncatedMean(centre, deviation);
      const place = `${centre} ${deviation}: ${found}, ${mean}`;
      assert.ok(Math.abs(found - mean) <= 1e-11 * mean, place);
      assert.ok(Math.abs(1 - found - fromOne) <= 1e-11 * fromOne + 1e-15, place);
    }
  }
});
