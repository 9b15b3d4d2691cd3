import assert from "node:assert/strict";
import { test } from "node:test";
import { placesOf, scaleOf } from "./interval-bar.ts";

test("all bars of a table share a scale that contains zero", () => {
  const forecasts = [
    { mu: 0.002, interval: { lower: 0.001, upper: 0.004 } },
    { mu: -0.001, interval: { lower: null, upper: 0.003 } },
    { mu: 0.001 },
  ];
  const scale = scaleOf(forecasts);
  assert.deepEqual(scale, { low: -0.001, high: 0.004 });
  assert.deepEqual(
    forecasts.map((forecast) => placesOf(scale, forecast)),
    [
      { from: 400, to: 1_000, mu: 600, zero: 200 },
      { from: 0, to: 800, mu: 0, zero: 200 },
      { from: undefined, to: undefined, mu: 400, zero: 200 },
    ],
  );
  assert.deepEqual(scaleOf([{ mu: 0.002, interval: { lower: 0.001, upper: null } }]), {
    low: 0,
    high: 0.002,
  });
});

test("forecasts of zero without an interval are in the middle", () => {
  const scale = scaleOf([{ mu: 0 }]);
  assert.deepEqual(placesOf(scale, { mu: 0 }), { from: undefined, to: undefined, mu: 500, zero: 500 });
});
