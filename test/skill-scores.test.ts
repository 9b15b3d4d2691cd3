/** `npm run bench -- skill` scores forecasts as plain loops over rows do. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { commonRows, forecastRows } from "../bench/skill/forecast-file.ts";
import { COSTS_BP, type Score, scoreForecasts } from "../bench/skill/score-forecasts.ts";
import { DEFAULT_ROWS, rowsNamed, SKILL_ROWS } from "../bench/skill/skill-rows.ts";
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

/** Of those of one end that were there the date before, the share that was not in that end; NaN without one. */
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
    turnover: average(shares.map(({ top }) => top)),
    net: COSTS_BP.map((cost) =>
      average(shares.map(({ spread, top, bottom }) => spread - cost * 2 * (top + bottom))),
    ),
  };
}

function figures({ net, ...rest }: Score): [name: string, value: number | null][] {
  return [...Object.entries(rest), ...net.map((value, i): [string, number | null] => [`net ${i}`, value])];
}

test("every figure of random forecasts is that of plain loops", () => {
  for (let seed = 1; seed <= 5; seed++) {
    const rows = randomRows(seed);
    const slow = new Map(figures(slowScore(rows)));
    for (const [name, value] of figures(scoreForecasts(rows, true))) {
      assert.ok(isNear(value!, slow.get(name)!), `seed ${seed}, ${name}: ${value}, not ${slow.get(name)}`);
    }
  }
});

test("scores do not depend on the order of tickers, and those of z-scores have no R²", () => {
  const rows = randomRows(1);
  const { r2Zero, r2Mean, ...others } = scoreForecasts(rows, true);
  assert.ok(r2Zero !== null && r2Mean !== null);
  const reversed = scoreForecasts(rows.toReversed(), false);
  assert.deepEqual(reversed, { ...others, r2Zero: null, r2Mean: null });
});

test("perfect forecasts have IC 1 and R² 1, and forecasts turned around IC -1", () => {
  const rows = randomRows(2).map((row) => ({ ...row, predicted: row.realised }));
  const { ic, rankIc, r2Zero, spread } = scoreForecasts(rows, true);
  assert.ok(isNear(ic!, 1) && isNear(rankIc!, 1) && r2Zero === 1 && spread! > 0);
  const turned = rows.map((row) => ({ ...row, predicted: row.realised.map((value) => -value) }));
  const opposite = scoreForecasts(turned, true);
  assert.ok(isNear(opposite.ic!, -1) && isNear(opposite.rankIc!, -1) && opposite.spread! < 0);
});

test("only rows that all forecast are judged", () => {
  const ticker = {
    ticker: "A",
    days: Int32Array.of(1, 2, 3),
    realised: Float64Array.of(0.1, 0.2, 0.3),
    trainingMean: 0.01,
  };
  const other = { ...ticker, ticker: "B" };
  const first = new Map([["A", new Map([1, 2, 3].map((day) => [day, day]))]]);
  const second = new Map([["A", new Map([2, 3, 4].map((day) => [day, -day]))]]);
  const common = commonRows([ticker, other], [first, second]);
  assert.deepEqual(
    common.map(({ days, realised }) => [[...days], [...realised]]),
    [
      [
        [2, 3],
        [0.2, 0.3],
      ],
      [[], []],
    ],
  );
  assert.deepEqual([...forecastRows(common, second)[0]!.predicted], [-2, -3]);
});

test("rows have names of their own, and networks run only by name", () => {
  assert.equal(new Set(SKILL_ROWS.map(({ name }) => name)).size, SKILL_ROWS.length);
  assert.ok(!DEFAULT_ROWS.some(({ name }) => name === "portfolio-lstm"));
  assert.equal(rowsNamed(["portfolio-lstm"])[0]!.name, "portfolio-lstm");
  assert.throws(() => rowsNamed(["nothing"]), /no row is called "nothing"; there are pooled-lightgbm,/);
});
