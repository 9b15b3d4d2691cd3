import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Random, seededRandom } from "../../../test/twins/random.ts";
import { constantFactors, isLinear } from "./rescaling.ts";

function walk(random: Random, length: number): Float64Array {
  let price = 5 + 200 * random.uniform();
  return Float64Array.from({ length }, () => {
    price *= Math.exp(0.02 * random.normal());
    return price;
  });
}

function rounded(values: Float64Array, decimals: number): Float64Array {
  return values.map((value) => Math.round(value * 10 ** decimals) / 10 ** decimals);
}

const cases = fc.record({
  seed: fc.nat(),
  length: fc.integer({ min: 20, max: 200 }),
  factor: fc.constantFrom(0.25, 1 / 3, 0.5, 2, 10, 0.9931, 1.015),
  decimals: fc.constantFrom(2, 4, undefined),
});
type Case = typeof cases extends fc.Arbitrary<infer C> ? C : never;

/** A history whose oldest values, at least 10 of them, were multiplied. */
function adjusted({ seed, length, factor, decimals }: Case) {
  const random = seededRandom(seed);
  const until = 10 + random.below(length - 9);
  const before = walk(random, length);
  const after = before.map((value, i) => (i < until ? factor * value : value));
  const print = (values: Float64Array) => (decimals === undefined ? values : rounded(values, decimals));
  return { until, before: print(before), after: print(after) };
}

test("a factor on the oldest values is recognised, even in prices of two or four decimals", () => {
  fc.assert(
    fc.property(cases, (made) => {
      const { until, before, after } = adjusted(made);
      const steps = constantFactors(before, after);
      assert.ok(steps !== undefined && steps[0]!.from === 0);
      assert.ok(Math.abs(steps[0]!.factor / made.factor - 1) < 2e-3);
      assert.equal(steps.at(-1)!.factor === 1, until < made.length);
    }),
    { numRuns: 500 },
  );
});

test("a factor applies to every value: its slow twin tries the ratio of each", () => {
  fc.assert(
    fc.property(cases, fc.boolean(), (made, isDisturbed) => {
      const { before, after } = adjusted({ ...made, decimals: undefined });
      const until = after.findIndex((value, i) => value === before[i]);
      const end = until < 0 ? after.length : until;
      if (isDisturbed) after[made.seed % end]! *= 1.001;
      const ratios = [...after.subarray(0, end)].map((value, i) => value / before[i]!);
      const isConstant = ratios.some((ratio) => ratios.every((other) => Math.abs(other / ratio - 1) <= 2e-7));
      assert.equal(constantFactors(before, after) !== undefined, isConstant);
    }),
  );
});

test("a restated stretch, noise, a shift and too few values have no factor", () => {
  const before = walk(seededRandom(2), 100);
  const refused: Record<string, Float64Array> = {
    stretch: before.map((value, i) => (i >= 40 && i < 60 ? 1.01 * value : value)),
    newest: before.map((value, i) => (i >= 60 ? 1.01 * value : value)),
    "stretch between factors": before.map(
      (value, i) => value * (i < 30 ? 0.5 : i < 50 ? 1 : i < 70 ? 0.5 : 1),
    ),
    few: before.map((value, i) => (i < 9 ? 2 * value : value)),
    shift: before.map((value) => value + 1),
    noise: before.map((value, i) => value * (1 + 0.01 * Math.sin(i * i))),
    same: before,
  };
  for (const [name, after] of Object.entries(refused))
    assert.equal(constantFactors(before, after), undefined, name);
  // Whole numbers that moved by one have no factor, and small ones determine none.
  const ranks = Float64Array.from({ length: 100 }, (_, i) => 1 + (i % 20));
  const moved = ranks.map((value, i) => Math.max(1, Math.min(20, value + [1, -1, 0, 2][i % 4]!)));
  assert.equal(constantFactors(ranks, moved), undefined);
  assert.equal(constantFactors(new Float64Array(50).fill(1), new Float64Array(50).fill(2)), undefined);
  assert.equal(constantFactors(new Float64Array(0), new Float64Array(0)), undefined);
});

test("a restated stretch inside a split history is not an adjustment; successive splits and dividends are", () => {
  for (const decimals of [2, 4, undefined]) {
    const print = (values: Float64Array) => (decimals === undefined ? values : rounded(values, decimals));
    for (let seed = 1; seed <= 50; seed++) {
      const before = walk(seededRandom(seed), 300);
      const split = (i: number) => (i < 200 ? 0.5 : 1);
      const restated = before.map((x, i) => x * split(i) * (i >= 100 && i < 112 ? 1.01 : 1));
      assert.equal(constantFactors(print(before), print(restated)), undefined, `${seed}`);
      const adjusted = before.map(
        (x, i) => x * split(i) * 0.99 ** (i < 50 ? 3 : i < 100 ? 2 : i < 150 ? 1 : 0),
      );
      assert.equal(constantFactors(print(before), print(adjusted))?.length, 5, `${seed}`);
    }
  }
});

test("a split is recognised in a history that began at a few cents", () => {
  const random = seededRandom(6);
  let price = 0.2;
  const exact = Float64Array.from(
    { length: 2_000 },
    () => (price *= Math.exp(0.0025 + 0.02 * random.normal())),
  );
  const quarter = exact.map((value) => value / 4);
  const steps = constantFactors(rounded(exact, 3), rounded(quarter, 3));
  assert.equal(steps?.length, 1);
  assert.ok(Math.abs(steps[0]!.factor / 0.25 - 1) < 1e-3);
});

test("missing values and zeros do not count", () => {
  const before = walk(seededRandom(3), 40);
  before[3] = Number.NaN;
  before[4] = 0;
  const after = before.map((value) => 3 * value);
  after[7] = Number.NaN;
  assert.equal(constantFactors(before, after)!.length, 1);
  after[4] = 1e-9;
  assert.equal(constantFactors(before, after), undefined);
});

test("a column that was standardised again is recognised; one value off its line, two values, a constant and few are not", () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 14, max: 200 }), (seed, length) => {
      const random = seededRandom(seed);
      const before = Float64Array.from({ length }, () => random.normal());
      const [factor, offset] = [0.5 + random.uniform(), random.normal()];
      const after = before.map((value) => offset + factor * value);
      before[0] = Number.NaN;
      assert.ok(isLinear(before, after));
      const middle = before.findIndex((value, i) => i > 0 && Math.abs(value) < 3);
      after[middle]! += 0.01;
      assert.ok(!isLinear(before, after));
    }),
  );
  const flags = Float64Array.from({ length: 50 }, (_, i) => i % 2);
  for (const [before, after] of [
    [flags, flags.map((value) => 3 + value)],
    [flags.map(() => 2), flags],
    [Float64Array.of(1, 2, 3), Float64Array.of(3, 5, 7)],
    [new Float64Array(0), new Float64Array(0)],
  ] as const)
    assert.ok(!isLinear(before, after));
});
