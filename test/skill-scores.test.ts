/** `npm run bench -- skill` scores forecasts like plain loops over rows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  commonRows,
  type Forecasts,
  forecastRows,
  judgedForecasts,
  type RowForecasts,
} from "../bench/skill/forecast-file.ts";
import { icDifference, icsByDate } from "../bench/skill/ic-difference.ts";
import type { JudgedTicker } from "../bench/skill/judged-rows.ts";
import { COSTS_BP, type Score, scoreForecasts } from "../bench/skill/score-forecasts.ts";
import { ScoredRows } from "../bench/skill/scored-rows.ts";
import { rowsNamed } from "../bench/skill/skill-rows.ts";
import type { ForecastRows } from "../src/evaluate/forecast-rows.ts";
import {
  average,
  byDate,
  datedRows,
  isNear,
  type PlainRow,
  plainRows,
  slowError,
} from "../src/report/statistics/dated-rows.testing.ts";

/** Random forecasts of 25 tickers that lack some dates; some forecasts of a date are equal. */
function randomRows(seed: number): ForecastRows[] {
  return datedRows(seed, 25, 80).map((row, t) => ({
    ...row,
    trainingMean: new Float64Array(row.days.length).fill(t / 10_000),
  }));
}

function pearson(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [a, b].map((values) => values.map((value) => value - average(values)));
  const dot = (u: readonly number[], v: readonly number[]) =>
    u.reduce((sum, value, i) => sum + value * v[i]!, 0);
  return dot(x!, y!) / Math.sqrt(dot(x!, x!) * dot(y!, y!));
}

/** From 1, ties averaged. */
function slowRanks(values: readonly number[]): number[] {
  const below = (value: number) => values.filter((other) => other < value).length;
  const equal = (value: number) => values.filter((other) => other === value).length;
  return values.map((value) => below(value) + (equal(value) + 1) / 2);
}

/** The tickers of one fifth of a date, 0 the lowest. */
function fifth(rows: readonly PlainRow[], number: number): PlainRow[] {
  const ranks = slowRanks(rows.map(({ p }) => p));
  return rows.filter((_, i) => Math.floor((5 * (ranks[i]! - 0.5)) / rows.length) === number);
}

/** The share of one end's tickers that were not in that end on the date before, among those present on both; NaN without one. */
function replaced(before: readonly PlainRow[], now: readonly PlainRow[], number: number): number {
  const names = (rows: readonly PlainRow[]) => new Set(rows.map(({ ticker }) => ticker));
  const [there, held] = [names(before), names(fifth(before, number))];
  const both = fifth(now, number).filter(({ ticker }) => there.has(ticker));
  return both.filter(({ ticker }) => !held.has(ticker)).length / both.length;
}

function slowScore(rows: readonly ForecastRows[]): Score {
  const dates = byDate(plainRows(rows)).map(([, own]) => own);
  const of = (own: readonly PlainRow[], ranked: (values: readonly number[]) => readonly number[]) =>
    pearson(ranked(own.map(({ p }) => p)), ranked(own.map(({ y }) => y)));
  const ics = dates.map((own) => of(own, (values) => values));
  const rankIcs = dates.map((own) => of(own, slowRanks));
  const end = (own: readonly PlainRow[], number: number) =>
    average(fifth(own, number).map(({ y }) => Math.exp(y) - 1));
  const spreads = dates.map((own) => 10_000 * (end(own, 4) - end(own, 0)));
  const pairs = dates.slice(1).map((now, i) => [dates[i]!, now] as const);
  const shares = pairs
    .map(([before, now], i) => ({
      spread: spreads[i + 1]!,
      top: replaced(before, now, 4),
      bottom: replaced(before, now, 0),
    }))
    .filter(({ top, bottom }) => !Number.isNaN(top + bottom));
  const all = rows.flatMap(({ predicted, realised, trainingMean }) =>
    Array.from(predicted, (p, i) => ({ p, y: realised[i]!, m: trainingMean[i]! })),
  );
  const squares = (error: (row: (typeof all)[number]) => number) =>
    average(all.map((row) => error(row) ** 2));
  return {
    rows: all.length,
    dates: dates.length,
    ic: average(ics),
    icT: average(ics) / slowError(ics),
    rankIc: average(rankIcs),
    rankIcT: average(rankIcs) / slowError(rankIcs),
    r2Zero: 1 - squares(({ p, y }) => y - p) / squares(({ y }) => y),
    r2Mean: 1 - squares(({ p, y }) => y - p) / squares(({ y, m }) => y - m),
    spread: average(spreads),
    spreadT: average(spreads) / slowError(spreads),
    turnover: average(shares.map(({ top, bottom }) => (top + bottom) / 2)),
    net: COSTS_BP.map((cost) =>
      average(shares.map(({ spread, top, bottom }) => spread - cost * 2 * (top + bottom))),
    ),
  };
}

function figures({ net, ...rest }: Score): [name: string, value: number | null][] {
  return [...Object.entries(rest), ...net.map((value, i): [string, number | null] => [`net ${i}`, value])];
}

test("every figure of random forecasts equals that of plain loops", () => {
  for (let seed = 1; seed <= 5; seed++) {
    const rows = randomRows(seed);
    const slow = new Map(figures(slowScore(rows)));
    for (const [name, value] of figures(scoreForecasts(rows, true))) {
      assert.ok(isNear(value!, slow.get(name)!), `seed ${seed}, ${name}: ${value}, not ${slow.get(name)}`);
    }
  }
});

/** Rows as they are judged: without forecasts. */
function judgedOf(rows: readonly ForecastRows[]): JudgedTicker[] {
  return rows.map(({ ticker, days, realised }) => ({ ticker, days, realised, trainingMean: 0.01 }));
}

function measured(forecasts: Forecasts): RowForecasts {
  return { forecasts, seconds: 1, processorSeconds: 2 };
}

test("reads forecasts by ticker and date, and judges only rows that all forecast", () => {
  const days = Int32Array.of(1, 2, 3);
  const realised = Float64Array.of(0.1, 0.2, 0.3);
  const judged = ["A", "B"].map((ticker) => ({ ticker, days, realised, trainingMean: 0.01 }));
  const dates = ["1970-01-02", "1970-01-03", "1970-01-04"];
  const first = judgedForecasts({ A: { dates, predicted: [1, 2, 3] } }, judged);
  const later = { dates: [...dates.slice(1), "1970-01-05"], predicted: [-2, -3, -4] };
  const second = judgedForecasts({ A: later }, judged);
  assert.deepEqual([...second[0]!], [Number.NaN, -2, -3]);
  const common = commonRows(judged, [first, second]);
  assert.deepEqual(
    common.map((kept) => [...kept]),
    [[1, 2], []],
  );
  const [a, b] = forecastRows(judged, common, second);
  assert.deepEqual(
    [[...a!.days], [...a!.realised], [...a!.predicted]],
    [
      [2, 3],
      [0.2, 0.3],
      [-2, -3],
    ],
  );
  assert.equal(b!.days.length, 0);
});

test("the difference of two rows is the difference of their ICs by date, with its own t", () => {
  for (let seed = 1; seed <= 5; seed++) {
    const rows = randomRows(seed);
    // Half of the first forecasts is in the others, so that the ICs of a date correlate.
    const others = rows.map((row, t) => ({
      ...row,
      predicted: row.predicted.map((value, i) => value / 2 + Math.sin(t * 7919 + i * 104_729 + seed) / 50),
    }));
    const byDates = [rows, others].map((all) => byDate(plainRows(all)).map(([, own]) => own));
    for (const ranked of [(values: readonly number[]) => values, slowRanks]) {
      const [ics, otherIcs] = byDates.map((dates) =>
        dates.map((own) => pearson(ranked(own.map(({ p }) => p)), ranked(own.map(({ y }) => y)))),
      );
      const differences = ics!.map((ic, i) => ic - otherIcs![i]!);
      const found = icDifference(icsByDate(rows), icsByDate(others.toReversed()));
      const [difference, t] = ranked === slowRanks ? [found.rankIc, found.rankIcT] : [found.ic, found.icT];
      assert.equal(found.dates, differences.length);
      assert.ok(isNear(difference!, average(differences)), `seed ${seed}: ${difference}`);
      assert.ok(isNear(t!, average(differences) / slowError(differences)), `seed ${seed}: t ${t}`);
    }
  }
});

test("rows are scored again once another row lacks some of their forecasts", () => {
  const rows = randomRows(3);
  const judged = judgedOf(rows);
  const scored = new ScoredRows(judged);
  const forecasts = rows.map(({ predicted }) => predicted);
  const [first, second, third] = ["pooled-ridge", "pooled-ridge-every-63", "ridge"].map(
    (name) => rowsNamed([name])[0]!,
  );
  scored.add(first!, measured(forecasts));
  const whole = scored.rows[0]!;
  assert.deepEqual([whole.rows, whole.seconds, whole.processorSeconds], [plainRows(rows).length, 1, 2]);
  scored.add(second!, measured(forecasts));
  assert.deepEqual(scored.rows[0], whole);
  assert.equal(scored.lacking, 0);
  const lacking = forecasts.map((values, t) => (t === 0 ? values.map(() => Number.NaN) : values));
  scored.add(third!, measured(lacking));
  assert.equal(scored.lacking, rows[0]!.days.length);
  const { rows: counted, ic } = scoreForecasts(
    rows.slice(1).map((row) => ({ ...row, trainingMean: row.trainingMean.fill(0.01) })),
    true,
  );
  for (const row of scored.rows) assert.deepEqual([row.rows, row.ic], [counted, ic]);
  assert.deepEqual(
    scored.comparisons.map(({ name, than, ic }) => [name, than, ic]),
    [["pooled-ridge-every-63", "pooled-ridge", 0]],
  );
});
