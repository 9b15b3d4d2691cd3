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
