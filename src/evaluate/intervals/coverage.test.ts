import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../../test/twins/random.ts";
import { formatDay, parseDay } from "../../contract/market/dates.ts";
import { type CoveredRows, coverageTable, scoreRatio } from "./coverage.ts";

const NONE = Number.NaN;
type Sides = "both" | "lower" | "upper";

/** Tickers with gaps in dates, labels, ends and volatilities, some on the ends of their intervals, over a change of years. */
function market(seed: number, tickers: number, dates: number, sides: Sides): CoveredRows[] {
  const random = seededRandom(seed);
  return Array.from({ length: tickers }, (_, t) => {
    const first = parseDay("2020-12-01")!;
    const days = Int32Array.from({ length: dates }, (_day, d) => first + d).filter(
      () => random.uniform() < 0.9,
    );
    const unless = (share: number, value: number) => (random.uniform() < share ? NONE : value);
    const hasEnds = days.map(() => (random.uniform() < 0.9 ? 1 : 0));
    const end = (isThere: boolean, value: number) =>
      Float64Array.from(hasEnds, (has) => (has === 1 && isThere ? value : NONE));
    return {
      ticker: `T${t}`,
      days,
      lower: end(sides !== "upper", -1),
      upper: end(sides !== "lower", 2),
      realised: Float64Array.from(days, () => unless(0.1, Math.round(2 * random.normal()))),
      predicted: Float64Array.from(days, () => 0.5),
      volatility: Float64Array.from(days, () => unless(0.1, random.below(9))),
    };
  });
}

interface Row {
  readonly day: number;
  readonly y: number;
  readonly low: number;
  readonly high: number;
  readonly volatility: number;
}

const labelledOf = (own: CoveredRows): Row[] =>
  [...own.days.keys()]
    .map((i) => ({
      day: own.days[i]!,
      y: own.realised[i]!,
      low: own.lower[i]!,
      high: own.upper[i]!,
      volatility: own.volatility[i]!,
    }))
    .filter(({ y }) => !Number.isNaN(y));
const isJudged = ({ low, high }: Row) => !Number.isNaN(low) || !Number.isNaN(high);
const isInside = ({ y, low, high }: Row) => !(y < low) && !(y > high);
const average = (values: readonly number[]) =>
  values.length === 0 ? null : values.reduce((a, b) => a + b) / values.length;

function scoreOf({ y, low, high }: Row, alpha: number): number {
  const missed = Math.max(0, low - y || 0, y - high || 0);
  if (Number.isNaN(low)) return high - 0.5 + missed / alpha;
  return Number.isNaN(high) ? 0.5 - low + missed / alpha : high - low + (2 * missed) / alpha;
}

function slowCoverage(rows: readonly Row[], alpha: number) {
  const judged = rows.filter(isJudged);
  return {
    n: judged.length,
    coverage: average(judged.map((row) => (isInside(row) ? 1 : 0))),
    mean_width: average(judged.map(({ low, high }) => high - low).filter((width) => !Number.isNaN(width))),
    interval_score: average(judged.map((row) => scoreOf(row, alpha))),
  };
}

/** Labelled rows of one ticker of known volatility, the most volatile first. */
const byVolatility = (rows: readonly Row[]) =>
  rows.filter((row) => !Number.isNaN(row.volatility)).sort((a, b) => b.volatility - a.volatility);

/** Compares numbers to rounding. */
function assertNear(found: object, expected: object): void {
  assert.deepEqual(Object.keys(found), Object.keys(expected));
  for (const [name, value] of Object.entries(expected)) {
    const other = (found as Record<string, number | null>)[name]!;
    if (value === null) assert.equal(other, null, name);
    else assert.ok(Math.abs(other - value) < 1e-12 * (1 + Math.abs(value)), `${name}: ${other}, ${value}`);
  }
}

test("coverage, widths and scores, by year, volatility and date, equal those of filtered rows", () => {
  const shape = [
    fc.nat(10_000),
    fc.integer({ min: 0, max: 7 }),
    fc.integer({ min: 0, max: 60 }),
    fc.constantFrom<Sides>("both", "lower", "upper"),
  ] as const;
  const property = fc.property(...shape, (seed, tickers, dates, sides) => {
    const rows = market(seed, tickers, dates, sides);
    const table = coverageTable(seededRandom(seed).shuffled(rows), 0.1);
    const all = rows.map(labelledOf);
    const high = all.map((own) => byVolatility(own).slice(0, Math.floor(own.length * 0.1)));
    const check = (found: typeof table.pooled, own: readonly Row[], wild: readonly Row[]) => {
      const { by_year, high_volatility, worst_250, ...whole } = found;
      assertNear(whole, slowCoverage(own, 0.1));
      assertNear(high_volatility!, slowCoverage(wild, 0.1));
      assert.equal(worst_250, null);
      for (const [year, yearly] of Object.entries(by_year!))
        assertNear(
          yearly,
          slowCoverage(
            own.filter(({ day }) => formatDay(day).startsWith(year)),
            0.1,
          ),
        );
    };
    check(table.pooled, all.flat(), high.flat());
    for (const [t, { ticker }] of rows.entries()) check(table.by_ticker.get(ticker)!, all[t]!, high[t]!);
    const tenths = all.map(byVolatility).filter((own) => own.length >= 10);
    for (const [tenth, found] of table.by_volatility.entries()) {
      const members = tenths.flatMap((own) =>
        own.filter((_, rank) => Math.floor((10 * (own.length - 1 - rank)) / own.length) === tenth),
      );
      assertNear(found, slowCoverage(members, 0.1));
    }
    const judged = Map.groupBy(all.flat().filter(isJudged), ({ day }) => day);
    const wide = [...judged.values()].filter((date) => date.length >= 5);
    assert.deepEqual(table.joint_misses, {
      dates: wide.length,
      half_missed: wide.filter((date) => 2 * date.filter((row) => !isInside(row)).length >= date.length)
        .length,
    });
  });
  fc.assert(property, { seed: 1, numRuns: 150 });
});

/** Rows of one ticker from their lower end, label and upper end. */
function rows(triples: readonly (readonly [number, number, number])[], more: Partial<CoveredRows> = {}) {
  const column = (of: 0 | 1 | 2) => Float64Array.from(triples, (triple) => triple[of]);
  return {
    ...{ ticker: "A", days: Int32Array.from(triples.keys()), volatility: column(0) },
    ...{ lower: column(0), realised: column(1), upper: column(2), predicted: column(0) },
    ...more,
  };
}

test("reports the worst 250 successive rows of one ticker, and null for fewer rows", () => {
  const missing = new Set([100, 101, 300, 301, 302, 549, 551]);
  const triples = Array.from({ length: 600 }, (_, i) => [0, missing.has(i) ? 3 : 1, 2] as const);
  const table = coverageTable([rows(triples), rows(triples.slice(0, 249), { ticker: "B" })], 0.1);
  // Only rows 100 to 349 contain five misses.
  const worst = (250 - 5) / 250;
  assert.deepEqual([table.by_ticker.get("A")!.worst_250, table.pooled.worst_250], [worst, worst]);
  assert.equal(table.by_ticker.get("B")!.worst_250, null);
});

test("residuals that test their intervals count those with ends", () => {
  const prequential = rows([
    [NONE, 1, NONE],
    [0, 1, 2],
    [0, 5, 2],
  ]);
  const { pooled, by_ticker } = coverageTable(
    [rows([], { prequential }), rows([], { ticker: "B", prequential: undefined })],
    0.1,
  );
  assert.deepEqual(by_ticker.get("A")!.prequential, { n: 2, coverage: 0.5 });
  assert.equal(by_ticker.get("B")!.prequential, null);
  assert.deepEqual(pooled.prequential, { n: 2, coverage: 0.5 });
});

test("a ratio of scores is the mean over tickers of the tickers' ratios, on rows for which both have ends", () => {
  const narrow = rows([
    [0, 1, 2],
    [NONE, 1, NONE],
  ]);
  const wide = rows([
    [-1, 1, 3],
    [0, 1, 9],
  ]);
  assert.equal(scoreRatio([[narrow, wide]], 0.1), 0.5);
  const pairs = [
    [narrow, wide],
    [wide, wide],
  ] as const;
  assert.equal(scoreRatio(pairs, 0.1), 0.75);
  assert.equal(scoreRatio([[rows([]), rows([])]], 0.1), null);
});
