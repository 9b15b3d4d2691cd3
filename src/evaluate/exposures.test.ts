import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import { exposureTable } from "./exposures.ts";
import type { DatedForecasts } from "./forecast-rows.ts";
import { meanT } from "./mean-test.ts";
import { average, slowCorrelation } from "./statistics.testing.ts";

const DATES = 40;
const COLUMNS = 5;

/** Forecasts and labels, with exposures at more days than the rows have, some of them unknown. */
function market(seed: number, tickers: number, forecast: (x: readonly number[], noise: number) => number) {
  const random = seededRandom(seed);
  const exposures = new Map<string, { days: Int32Array; values: Float64Array }>();
  const rows = Array.from({ length: tickers }, (_, t): DatedForecasts => {
    const ticker = `T${String(t).padStart(2, "0")}`;
    const days = Int32Array.from({ length: DATES + 20 }, (_, d) => d);
    const values = Float64Array.from(
      { length: days.length * COLUMNS },
      (_, i) => (i % COLUMNS === 2 ? 100 : 1) * random.normal(),
    );
    const own = days.filter((d) => d >= 20 && random.uniform() < 0.95);
    const x = (d: number) => [...values.subarray(d * COLUMNS, (d + 1) * COLUMNS)];
    const predicted = Float64Array.from(own, (d) => forecast(x(d), random.normal()));
    for (const d of own) if (random.uniform() < 0.05) values[d * COLUMNS] = Number.NaN;
    exposures.set(ticker, { days, values });
    const realised = Float64Array.from(own, (d) =>
      random.uniform() < 0.05 ? Number.NaN : x(d)[1]! + 0.5 * random.normal(),
    );
    return { ticker, days: own, predicted, realised };
  });
  return { rows, exposures };
}

/** The residual of a regression on columns and a constant, by elimination in the normal equations. */
function slowResidual(y: readonly number[], columns: readonly (readonly number[])[]): number[] {
  const x = [
    y.map(() => 1),
    ...columns.map((own) => own.map((value) => value / Math.max(...own.map(Math.abs)))),
  ];
  const system = x.map((a) => [...x, y].map((b) => a.reduce((sum, value, i) => sum + value * b[i]!, 0)));
  for (const [i, pivot] of system.entries()) {
    for (const [j, row] of system.entries()) {
      if (j === i) continue;
      const factor = row[i]! / pivot[i]!;
      for (const k of row.keys()) row[k]! -= factor * pivot[k]!;
    }
  }
  return y.map(
    (value, n) => value - x.reduce((sum, own, i) => sum + (system[i]!.at(-1)! / system[i]![i]!) * own[n]!, 0),
  );
}

function slowTable({ rows, exposures }: ReturnType<typeof market>) {
  const dates = Array.from({ length: DATES + 20 }, (_, d) =>
    rows.flatMap(({ ticker, ...row }) => {
      const i = row.days.indexOf(d);
      const x = [...exposures.get(ticker)!.values.subarray(d * COLUMNS, (d + 1) * COLUMNS)];
      return i < 0 ? [] : [{ p: row.predicted[i]!, y: row.realised[i]!, x }];
    }),
  );
  const correlations = Array.from({ length: COLUMNS }, (_, c) =>
    dates.flatMap((date) => {
      const known = date.filter(({ x }) => !Number.isNaN(x[c]!));
      return known.length < 5
        ? []
        : [
            slowCorrelation(
              known.map(({ p }) => p),
              known.map(({ x }) => x[c]!),
            ),
          ];
    }),
  );
  const whole = dates
    .map((date) => date.filter(({ x, y }) => ![...x, y].some(Number.isNaN)))
    .filter((date) => date.length >= 12);
  const ics = whole.map((date) =>
    slowCorrelation(
      date.map(({ p }) => p),
      date.map(({ y }) => y),
    ),
  );
  const rest = whole.map((date) => {
    const left = slowResidual(
      date.map(({ p }) => p),
      Array.from({ length: COLUMNS }, (_, c) => date.map(({ x }) => x[c]!)),
    );
    return slowCorrelation(
      left,
      date.map(({ y }) => y),
    );
  });
  return { correlations, ics, rest };
}

const near = (a: number | null, b: number | null) => Math.abs(a! - b!) < 1e-9 * Math.max(1, Math.abs(b!));

test("correlations and the semipartial IC equal those of a regression by normal equations", () => {
  for (let seed = 1; seed <= 5; seed++) {
    const given = market(seed, 20, (x, noise) => x[0]! + x[1]! + noise);
    const { dates, ic_mean, ic_t, residual, by_exposure } = exposureTable(given.rows, given.exposures);
    const slow = slowTable(given);
    const t = (values: readonly number[]) => meanT(Float64Array.from(values));
    assert.equal(dates, slow.ics.length);
    assert.ok(dates > 20);
    assert.ok(near(ic_mean, average(slow.ics)) && near(ic_t, t(slow.ics)));
    assert.ok(near(residual.ic_mean, average(slow.rest)) && near(residual.ic_t, t(slow.rest)));
    for (const [c, own] of by_exposure.entries()) {
      assert.equal(own.dates, slow.correlations[c]!.length);
      assert.ok(near(own.correlation_mean, average(slow.correlations[c]!)));
      assert.ok(near(own.correlation_t, t(slow.correlations[c]!)));
    }
  }
});

test("forecasts that are a sum of exposures have an IC, and none beyond them", () => {
  const { rows, exposures } = market(2, 20, (x) => 0.001 * x[1]! + 0.0001 * x[4]!);
  const { ic_mean, residual, dates } = exposureTable(rows, exposures);
  assert.ok(ic_mean! > 0.5 && dates > 20);
  assert.deepEqual(residual, { ic_mean: 0, ic_t: null });
});
