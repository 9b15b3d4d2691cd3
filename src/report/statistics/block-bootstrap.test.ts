import assert from "node:assert/strict";
import { test } from "node:test";
import { DRAWS, meanBlockLength, stationaryResamples } from "./block-bootstrap.ts";

test("draws are the same every time, and differ from each other", () => {
  const draws = stationaryResamples(50, 3);
  assert.deepEqual(stationaryResamples(50, 3), draws);
  assert.equal(new Set(draws.map(String)).size, 3);
  assert.equal(stationaryResamples(40).length, DRAWS);
});

test("each date is drawn about equally often, in blocks whose mean length follows the rule", () => {
  const dates = 120;
  const counts = new Float64Array(dates);
  let [blocks, draws] = [0, 0];
  for (const drawn of stationaryResamples(dates, 2_000)) {
    draws++;
    for (const [i, date] of drawn.entries()) {
      counts[date]!++;
      if (i === 0 || date !== (drawn[i - 1]! + 1) % dates) blocks++;
    }
  }
  // 2,000 expected; blocks make the counts vary a little more than a Poisson number.
  assert.ok(counts.every((count) => Math.abs(count - draws) < 6 * Math.sqrt(6 * draws)));
  const length = (draws * dates) / blocks;
  // The last block of a draw is cut.
  assert.ok(Math.abs(length / meanBlockLength(dates) - 1) < 0.08, `${length}`);
});

test("blocks last a week, or for many dates the cube root of their number", () => {
  assert.deepEqual([30, 216, 217, 1_000, 1_500].map(meanBlockLength), [6, 6, 7, 10, 12]);
});
