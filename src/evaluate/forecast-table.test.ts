import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../test/twins/random.ts";
import type { ForecastRows } from "./forecast-rows.ts";
import type { ForecastTable } from "./forecast-table.ts";
import { average, slowCorrelation, slowNeweyWestError, slowRanks, sum } from "./statistics.testing.ts";
import { setTablesOf, tableOf } from "./tables.testing.ts";

type Entry = { ticker: string; date: number; y: number; p: number; benchmark: number };
type Twin = Record<string, number | null>;

/** Null in place of a number that does not exist. */
const orNull = (value: number) => (Number.isNaN(value) ? null : value);

/** The metrics of a list of rows, each on one obvious line. */
function slowMetrics(all: readonly Entry[]): Twin {
  const rows = all.filter((row) => !Number.isNaN(row.y));
  const squares = (error: (row: Entry) => number): number => sum(rows.map((row) => error(row) ** 2));
  const sse = squares((row) => row.y - row.p);
  const aroundZero = squares((row) => row.y);
  const aroundMean = squares((row) => row.y - row.benchmark);
  const meanSquare = orNull(average(rows.map((row) => (row.y - row.p) ** 2)));
  const signed = rows.filter((row) => row.y !== 0 && row.p !== 0);
  const hits = signed.filter((row) => Math.sign(row.y) === Math.sign(row.p));
  const hitRate = orNull(hits.length / signed.length);
  return {
    n: rows.length,
    rmse: meanSquare === null ? null : Math.sqrt(meanSquare),
    mae: orNull(average(rows.map((row) => Math.abs(row.y - row.p)))),
    hit_rate: hitRate,
    up_share: orNull(average(signed.map((row) => (row.y > 0 ? 1 : 0)))),
    hit_rate_se: hitRate === null ? null : Math.sqrt((hitRate * (1 - hitRate)) / signed.length),
    r2_zero: aroundZero === 0 ? null : 1 - sse / aroundZero,
    r2_mean: aroundMean === 0 ? null : 1 - sse / aroundMean,
    correlation: orNull(
      slowCorrelation(
        rows.map((row) => row.y),
        rows.map((row) => row.p),
      ),
    ),
  };
}

function slowMedian(values: readonly number[]): number | null {
  const above = (value: number) => values.filter((other) => other > value).length;
  const below = (value: number) => values.filter((other) => other < value).length;
  const middle = values.filter((value) => Math.max(above(value), below(value)) <= values.length / 2);
  return values.length === 0 ? null : (Math.min(...middle) + Math.max(...middle)) / 2;
}

/** IC and RankIC date by date, from a Map of dates. */
function slowCrossSection(all: readonly Entry[]): Twin {
  const dates = new Map<number, Entry[]>();
  for (const row of all) {
    if (!Number.isNaN(row.y)) dates.set(row.date, [...(dates.get(row.date) ?? []), row]);
  }
  const ics: number[] = [];
  const rankIcs: number[] = [];
  const counts: number[] = [];
  for (const [, rows] of [...dates].sort(([a], [b]) => a - b)) {
    if (rows.length < 3) continue;
    const [p, y] = [rows.map((row) => row.p), rows.map((row) => row.y)];
    const ic = slowCorrelation(p, y);
    if (Number.isNaN(ic)) continue;
    ics.push(ic);
    counts.push(rows.length);
    rankIcs.push(slowCorrelation(slowRanks(p), slowRanks(y)));
  }
  const summed = (values: number[]) => {
    const mean = orNull(average(values));
    if (mean === null || values.length < 2) return { mean, std: null, ratio: null, t: null };
    const std = Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / (values.length - 1));
    if (std < 1e-12) return { mean, std: 0, ratio: null, t: null };
    return { mean, std, ratio: mean / std, t: mean / (std / Math.sqrt(values.length)) };
  };
  const ic = summed(ics);
  const rank = summed(rankIcs);
  return {
    dates: ics.length,
    mean_tickers: orNull(average(counts)),
    ic_mean: ic.mean,
    ic_std: ic.std,
    icir: ic.ratio,
    ic_t: ic.t,
    ic_t_newey_west: ic.t === null ? null : average(ics) / slowNeweyWestError(ics),
    rank_ic_mean: rank.mean,
    rank_ic_std: rank.std,
    rank_icir: rank.ratio,
    rank_ic_t: rank.t,
  };
}

function assertClose(found: object, expected: Twin, where: string): void {
  assert.deepEqual(Object.keys(found), Object.keys(expected), where);
  for (const [name, value] of Object.entries(found as Twin)) {
    const other = expected[name]!;
    if (value === null || other === null) assert.equal(value, other, `${where} ${name}`);
    else
      assert.ok(
        Math.abs(value - other) <= 1e-9 * Math.max(1, Math.abs(other)),
        `${where} ${name}: ${value}, ${other}`,
      );
  }
}

/** Forecasts of a few tickers, with ties, zeros, constants, unlabelled rows and tickers without rows. */
function someForecasts(seed: number, tickers: number, dates: number): ForecastRows[] {
  const random = seededRandom(seed);
  const coarse = random.below(3);
  const value = (): number => {
    const raw = random.normal() / 50;
    return coarse === 0 ? raw : Math.round(raw * (coarse === 1 ? 100 : 25)) / 100;
  };
  return Array.from({ length: tickers }, (_, t) => {
    const present = Array.from({ length: dates }, (_day, d) => 18_000 + d).filter(
      () => random.uniform() < 0.8,
    );
    const constant = random.below(4) === 0;
    const level = value();
    return {
      ticker: ["__proto__", "10", "9", "AAA", "\u{1F600}", "\uFF21", "b"][t]!,
      days: Int32Array.from(present),
      predicted: Float64Array.from(present, () => (constant ? level : value())),
      realised: Float64Array.from(present, () => (random.uniform() < 0.1 ? Number.NaN : value())),
      trainingMean: new Float64Array(present.length).fill(value()),
    };
  });
}

function entriesOf(rows: readonly ForecastRows[]): Entry[] {
  return rows.flatMap((ticker) =>
    Array.from(ticker.days, (date, i) => ({
      ticker: ticker.ticker,
      date,
      y: ticker.realised[i]!,
      p: ticker.predicted[i]!,
      benchmark: ticker.trainingMean[i]!,
    })),
  );
}

function assertTable(table: ForecastTable, entries: readonly Entry[]): void {
  assertClose(table.pooled, slowMetrics(entries), "pooled");
  assertClose(table.cross_section, slowCrossSection(entries), "cross section");
  const skills: number[] = [];
  for (const [ticker, found] of table.by_ticker) {
    assertClose(found, slowMetrics(entries.filter((entry) => entry.ticker === ticker)), ticker);
    if (found.r2_zero !== null) skills.push(found.r2_zero);
  }
  assertClose({ median: table.r2_zero_median }, { median: slowMedian(skills) }, "median");
}

const SIZES = [fc.nat(), fc.integer({ min: 0, max: 7 }), fc.integer({ min: 0, max: 12 })] as const;

function bytes(table: unknown): string {
  return JSON.stringify(table, (_, value) => (value instanceof Map ? [...value] : value));
}

test("tables agree with the slow twin", () => {
  const property = fc.property(...SIZES, (seed, tickers, dates) => {
    const rows = someForecasts(seed, tickers, dates);
    assertTable(tableOf(rows), entriesOf(rows));
  });
  fc.assert(property, { seed: 21, numRuns: 400 });
});

test("the order in which tickers finished changes no byte, and tickers ascend by code point", () => {
  const property = fc.property(...SIZES, (seed, tickers, dates) => {
    const rows = someForecasts(seed, tickers, dates);
    const shuffled = seededRandom(seed).shuffled(rows);
    assert.equal(bytes(tableOf(shuffled)), bytes(tableOf(rows)));
    assert.equal(bytes(setTablesOf(shuffled)), bytes(setTablesOf(rows)));
  });
  fc.assert(property, { seed: 22 });
  assert.deepEqual(
    [...tableOf(someForecasts(1, 7, 5)).by_ticker.keys()],
    ["10", "9", "AAA", "__proto__", "b", "\uFF21", "\u{1F600}"],
  );
});
