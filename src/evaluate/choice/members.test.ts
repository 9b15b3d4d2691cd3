import assert from "node:assert/strict";
import { test } from "node:test";
import { meanError } from "../mean-test.ts";
import { mean } from "../statistics.ts";
import { noise } from "./choice.testing.ts";
import { chosenMembers } from "./prequential.ts";

const DATES = 60;

/** An excess around a mean. */
function series(centre: number, seed: number, size = 1): Float64Array {
  const next = noise(seed);
  return Float64Array.from({ length: DATES }, () => centre + size * next());
}

test("the members are the candidates within one error of the best, in order", () => {
  const excess = [new Float64Array(DATES), series(-0.5, 1), series(-0.48, 2), series(0.4, 3)];
  const { best, members } = chosenMembers({ excess }, DATES, "mean");
  const expected = excess.flatMap((own, c) => {
    const gap = own.map((value, d) => value - excess[best]![d]!);
    return mean(gap) <= (meanError(gap) ?? 0) ? [c] : [];
  });
  assert.deepEqual(members, expected);
  assert.ok(members.includes(1) && members.includes(2) && !members.includes(3), members.join());
  assert.deepEqual(chosenMembers({ excess }, DATES, "best"), { best, members: [best] });
});

test("candidate 0 is used before 30 dates are known, and the earlier of equal candidates is the best", () => {
  const excess = [new Float64Array(DATES), series(-1, 4, 0.1)];
  assert.deepEqual(chosenMembers({ excess }, 29, "mean"), { best: 0, members: [0] });
  assert.deepEqual(chosenMembers({ excess }, 30, "mean"), { best: 1, members: [1] });
  const equal = [new Float64Array(DATES), new Float64Array(DATES)];
  assert.deepEqual(chosenMembers({ excess: equal }, DATES, "mean"), { best: 0, members: [0, 1] });
});
