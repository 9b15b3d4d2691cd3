/** `npm run bench -- skill` scores forecasts like plain loops over rows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { icDifference, icsByDate } from "../bench/skill/ic-difference.ts";
import { commonRows, type ForecastFile, forecastRows, judgedForecasts } from "../bench/skill/judged-rows.ts";
import { ScoredRows } from "../bench/skill/scored-rows.ts";
import { scoreForecasts } from "../bench/skill/scores.ts";
import { rowsNamed } from "../bench/skill/skill-rows.ts";
import { formatDay } from "../src/contract/market/dates.ts";
import type { ForecastRows } from "../src/evaluate/forecast-rows.ts";
import {
  average,
  byDate,
  datedRows,
  isNear,
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

test("R² of random forecasts equals that of plain loops, and the order is that of outputs at both closes", () => {
  for (let seed = 1; seed <= 5; seed++) {
    const rows = randomRows(seed);
    const all = rows.flatMap(({ predicted, realised, trainingMean }) =>
      Array.from(predicted, (p, i) => ({ p, y: realised[i]!, m: trainingMean[i]! })),
    );
    const squares = (error: (row: (typeof all)[number]) => number) =>
      average(all.map((row) => error(row) ** 2));
    const score = scoreForecasts(rows, 1, true);
    assert.equal(score.rows, all.length);
    assert.ok(isNear(score.r2Zero!, 1 - squares(({ p, y }) => y - p) / squares(({ y }) => y)));
    assert.ok(isNear(score.r2Mean!, 1 - squares(({ p, y }) => y - p) / squares(({ y, m }) => y - m)));
    assert.deepEqual([score.close.delay, score.later.delay], [1, 2]);
    assert.equal(scoreForecasts(rows, 1, false).r2Zero, null);
  }
});

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
  const judged = rows.map(({ ticker, days, realised }) => ({ ticker, days, realised, trainingMean: 0.01 }));
  const scored = new ScoredRows(judged, 0);
  const file = (kept: readonly ForecastRows[]): ForecastFile => ({
    forecasts: Object.fromEntries(
      kept.map(({ ticker, days, predicted }) => [
        ticker,
        { dates: [...days].map(formatDay), predicted: [...predicted] },
      ]),
    ),
    seconds: 1,
    processor_seconds: 2,
  });
  const [first, second, third] = ["pooled-lightgbm", "pooled-lightgbm-refits", "ridge"].map(
    (name) => rowsNamed([name])[0]!,
  );
  scored.add(first!, file(rows));
  const whole = scored.rows[0]!;
  assert.deepEqual([whole.rows, whole.seconds, whole.processorSeconds], [plainRows(rows).length, 1, 2]);
  scored.add(second!, file(rows));
  assert.deepEqual(scored.rows[0], whole);
  assert.equal(scored.lacking, 0);
  scored.add(third!, file(rows.slice(1)));
  assert.equal(scored.lacking, rows[0]!.days.length);
  const { rows: counted, close } = scoreForecasts(rows.slice(1), 0, true);
  for (const row of scored.rows) assert.deepEqual([row.rows, row.close], [counted, close]);
  assert.deepEqual(
    scored.comparisons.map(({ name, than, ic }) => [name, than, ic]),
    [["pooled-lightgbm-refits", "pooled-lightgbm", 0]],
  );
});
