import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../../test/twins/random.ts";
import { average, isNear, slowBandQuantile, slowError } from "./dated-rows.testing.ts";
import { spreadAfterCosts } from "./spread-after-costs.ts";

/** Spreads and replaced shares, each on some of the dates. */
function traded(seed: number, dates: number) {
  const random = seededRandom(seed);
  const some = () => Array.from({ length: dates }, (_, d) => d).filter(() => random.uniform() < 0.8);
  const [spreadDays, replacedDays] = [some(), some()];
  const spread = {
    days: Int32Array.from(spreadDays),
    values: Float64Array.from(spreadDays, () => 0.001 + 0.01 * random.normal()),
  };
  const shares = () => Float64Array.from(replacedDays, () => random.uniform());
  return { spread, replaced: { days: Int32Array.from(replacedDays), top: shares(), bottom: shares() } };
}

test("the spread after costs is that of paying for each sale and each purchase, date by date", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const { spread, replaced } = traded(seed, 150);
    const found = spreadAfterCosts(spread, replaced, [0, 0.0005])!;
    const both = [...spread.days].filter((day) => replaced.days.includes(day));
    const gross = both.map((day) => spread.values[spread.days.indexOf(day)]!);
    const sides = both.map((day) => {
      const at = replaced.days.indexOf(day);
      const [top, bottom] = [replaced.top[at]!, replaced.bottom[at]!];
      const sales = top + bottom;
      const purchases = top + bottom;
      return sales + purchases;
    });
    assert.equal(found.dates, both.length);
    assert.ok(isNear(found.traded, average(sides)));
    assert.ok(isNear(found.breakEven, average(gross) / average(sides)));
    for (const { cost, mean, band } of found.nets) {
      const net = gross.map((value, i) => value - cost * sides[i]!);
      assert.ok(isNear(mean, average(net)));
      assert.ok(isNear(band!.high - band!.low, 2 * slowBandQuantile(net.length) * slowError(net)));
    }
  }
});

test("costs only take away, and the break-even cost leaves nothing", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000 }),
      fc.double({ min: 1e-6, max: 0.01, noNaN: true }),
      (seed, cost) => {
        const { spread, replaced } = traded(seed, 60);
        const { nets, breakEven, traded: much } = spreadAfterCosts(spread, replaced, [0, cost])!;
        assert.ok(isNear(nets[0]!.mean - nets[1]!.mean, cost * much, 1e-12));
        assert.ok(Math.abs(spreadAfterCosts(spread, replaced, [breakEven])!.nets[0]!.mean) < 1e-12);
      },
    ),
    { seed: 1, numRuns: 50 },
  );
});

test("without a date that has both a spread and a turnover there is nothing to tell", () => {
  const { spread, replaced } = traded(1, 20);
  const later = { ...replaced, days: replaced.days.map((day) => day + 1_000) };
  assert.equal(spreadAfterCosts(spread, later, [0]), undefined);
});
