import assert from "node:assert/strict";
import { test } from "node:test";
import { type ForecastStream, smoothForecasts } from "./smoothing.ts";

const TICKERS = 7;
const DATES = 60;

/** Tickers that begin on different dates and miss some; one date has equal forecasts. */
function market(change = (_day: number) => 0): ForecastStream[] {
  let state = 7;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647 - 0.5;
  };
  return Array.from({ length: TICKERS }, (_, k) => {
    const days = Array.from({ length: DATES }, (_, d) => 100 + 3 * d).filter(
      (day) => (day + 3 * k) % 11 !== 0 && day >= 100 + 5 * (k === 6 ? 9 : 0),
    );
    const predicted = Float64Array.from(days, (day) => (day === 130 ? 0.02 : random()) + change(day));
    return { days: Int32Array.from(days), predicted, levels: Float64Array.from(days, (day) => day / 1e4) };
  });
}

/** The definition, date by date and ticker by ticker. */
function slow(streams: readonly ForecastStream[], halfLife: number): number[][] {
  const dates = [...new Set(streams.flatMap(({ days }) => [...days]))].sort((a, b) => a - b);
  const above = streams.map(
    ({ days, predicted, levels }) => new Map([...days].map((day, i) => [day, predicted[i]! - levels[i]!])),
  );
  const facts = new Map(
    dates.map((day) => {
      const values = above.flatMap((own) => own.get(day) ?? []);
      const m = values.reduce((a, b) => a + b) / values.length;
      return [
        day,
        {
          ...{ m, count: values.length },
          u: Math.sqrt(values.reduce((sum, value) => sum + (value - m) ** 2, 0) / values.length),
        },
      ];
    }),
  );
  return streams.map(({ days, predicted, levels }, k) =>
    [...days].map((day, i) => {
      const now = dates.indexOf(day);
      if (facts.get(day)!.count < 5) return predicted[i]!;
      let [sum, weight] = [0, 0];
      for (let j = 0; j <= Math.ceil(8 * halfLife) && now - j >= 0; j++) {
        const then = dates[now - j]!;
        const { m, u, count } = facts.get(then)!;
        const value = above[k]!.get(then);
        if (value === undefined || u < 1e-15 || count < 5) continue;
        const a = 2 ** (-j / halfLife);
        sum += (a * (value - m)) / u;
        weight += a;
      }
      return levels[i]! + (weight === 0 ? 0 : (facts.get(day)!.u * sum) / weight);
    }),
  );
}

test("smoothed forecasts are the definition's", () => {
  for (const halfLife of [0.5, 1, 3]) {
    const streams = market();
    const { smoothed: found } = smoothForecasts(streams, halfLife);
    for (const [k, own] of slow(streams, halfLife).entries())
      for (const [i, value] of own.entries()) assert.ok(Math.abs(found[k]![i]! - value) < 1e-12, `${k} ${i}`);
  }
});

test("a half-life of 0 is off", () => {
  const streams = market();
  assert.deepEqual(
    smoothForecasts(streams, 0).smoothed,
    streams.map(({ predicted }) => predicted),
  );
});

test("no forecast depends on a later one", () => {
  const from = 200;
  const { smoothed: before } = smoothForecasts(market(), 2);
  const { smoothed: after } = smoothForecasts(
    market((day) => (day > from ? day : 0)),
    2,
  );
  for (const [k, { days }] of market().entries())
    for (const [i, day] of days.entries()) if (day <= from) assert.equal(after[k]![i], before[k]![i]);
});

test("a date with forecasts of fewer than 5 tickers is counted and keeps them", () => {
  const streams = market().slice(0, 5);
  const { smoothed, thinDates } = smoothForecasts(streams, 2);
  const counts = Map.groupBy(
    streams.flatMap(({ days }) => [...days]),
    (day) => day,
  );
  const thin = [...counts].filter(([, { length }]) => length < 5).map(([day]) => day);
  assert.ok(thin.length > 5 && thinDates === thin.length);
  for (const [k, { days, predicted }] of streams.entries())
    for (const [i, day] of days.entries())
      if (thin.includes(day)) assert.equal(smoothed[k]![i], predicted[i]);
});
