import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../../test/twins/random.ts";
import { quantilesOf } from "../../evaluate/quantiles.ts";
import { averageRanks } from "../../evaluate/rank.ts";
import { correlation } from "../../evaluate/statistics.ts";
import {
  average,
  byDate,
  datedRows,
  isNear,
  type PlainRow,
  plainRows,
  slowBandQuantile,
  slowError,
} from "./dated-rows.testing.ts";
import { spreadAfterCosts, turnover } from "./turnover.ts";

const COUNT = 3;

function endOf(date: readonly PlainRow[], end: number): string[] {
  const quantiles = quantilesOf(
    Float64Array.from(date, ({ p }) => p),
    COUNT,
  );
  return date.filter((_, i) => quantiles[i] === end).map(({ ticker }) => ticker);
}

function slowTurnover(rows: readonly PlainRow[]) {
  const dates = byDate(rows);
  const found = dates.slice(1).map(([day, now], i) => {
    const before = dates[i]![1];
    const earlier = (row: PlainRow) => before.find(({ ticker }) => ticker === row.ticker);
    const both = now.filter((row) => earlier(row) !== undefined);
    const ranks = (values: readonly number[]) => averageRanks(Float64Array.from(values));
    const rho =
      both.length < 3
        ? null
        : correlation(ranks(both.map((row) => earlier(row)!.p)), ranks(both.map(({ p }) => p)));
    const replacedOf = (end: number) => {
      const held = endOf(now, end).filter((ticker) => before.some((row) => row.ticker === ticker));
      const fresh = held.filter((ticker) => !endOf(before, end).includes(ticker));
      return held.length === 0 ? undefined : fresh.length / held.length;
    };
    return { day, rho, top: replacedOf(COUNT - 1), bottom: replacedOf(0) };
  });
  return {
    pairs: found.flatMap(({ day, rho }) => (rho === null ? [] : [[day, rho] as const])),
    replaced: found.flatMap(({ day, top, bottom }) =>
      top === undefined || bottom === undefined ? [] : [{ day, top, bottom }],
    ),
  };
}

test("the rank autocorrelation and the replaced shares of both ends equal looking up every ticker", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const rows = datedRows(seed, 4 + (seed % 7));
    const { days, autocorrelation, replaced } = turnover(rows, COUNT);
    const slow = slowTurnover(plainRows(rows));
    assert.deepEqual(
      [...days],
      slow.pairs.map(([day]) => day),
    );
    assert.ok(slow.pairs.every(([, rho], i) => isNear(autocorrelation[i]!, rho)));
    assert.deepEqual(
      Array.from(replaced.days, (day, i) => ({ day, top: replaced.top[i]!, bottom: replaced.bottom[i]! })),
      slow.replaced,
    );
  }
});

test("a constant order correlates by 1 and replaces none, a reversed one by -1", () => {
  const days = Int32Array.from({ length: 9 }, (_, d) => d);
  const rows = (at: (t: number, d: number) => number) =>
    Array.from({ length: 6 }, (_, t) => ({
      ticker: `T${t}`,
      days,
      predicted: Float64Array.from(days, (d) => at(t, d)),
    }));
  const stays = turnover(
    rows((t, d) => t + d),
    COUNT,
  );
  assert.ok(stays.autocorrelation.every((rho) => isNear(rho, 1)));
  assert.equal(stays.autocorrelation.length, 8);
  assert.deepEqual([...stays.replaced.top, ...stays.replaced.bottom], new Array(16).fill(0));
  const turns = turnover(
    rows((t, d) => (d % 2 === 0 ? t : -t)),
    COUNT,
  );
  assert.ok(turns.autocorrelation.every((rho) => isNear(rho, -1)));
  assert.deepEqual([...turns.replaced.top, ...turns.replaced.bottom], new Array(16).fill(1));
});

test("one date, and two tickers, have no turnover of their order", () => {
  assert.equal(turnover(datedRows(1, 2), COUNT).days.length, 0);
  const { days, replaced } = turnover(datedRows(1, 5, 1), COUNT);
  assert.deepEqual([days.length, replaced.days.length], [0, 0]);
});

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

test("the spread after costs equals paying for each sale and each purchase, date by date", () => {
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

test("costs only reduce the spread, and the break-even cost leaves nothing", () => {
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

test("without a date that has both a spread and a turnover there is nothing to report", () => {
  const { spread, replaced } = traded(1, 20);
  const later = { ...replaced, days: replaced.days.map((day) => day + 1_000) };
  assert.equal(spreadAfterCosts(spread, later, [0]), undefined);
});
