import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../../test/twins/random.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { skillParts } from "./skill-parts.ts";

const TICKERS = 20;
const DATES = 300;

/** @param forecast a ticker's next return from its earlier returns, and from how much it is permanently better than the others. */
function market(
  random: Random,
  forecast: (next: number, past: readonly number[], quality: number) => number,
): DatedForecasts[] {
  const days = Int32Array.from({ length: DATES }, (_, i) => 18_000 + i);
  return Array.from({ length: TICKERS }, (_, t) => {
    const quality = 0.2 * random.normal();
    const returns = Array.from(days, () => quality + random.normal());
    const predicted = Float64Array.from(days, (_, i) => forecast(returns[i]!, returns.slice(0, i), quality));
    return { ticker: `S${t}`, days, predicted, realised: Float64Array.from(returns) };
  });
}

const partsOf = (...given: Parameters<typeof market>) => skillParts(market(...given), 19)!;

test("forecasts that know only which tickers are better have skill in lasting differences", () => {
  const random = seededRandom(1);
  const { lasting, timing } = partsOf(random, (_, __, quality) => quality + 0.2 * random.normal());
  assert.ok(lasting.icMean! > 0.1 && lasting.t! > 10, JSON.stringify(lasting));
  assert.ok(Math.abs(timing.icMean!) < 0.03, JSON.stringify(timing));
});

test("forecasts that know the next return have skill only in their timing", () => {
  const random = seededRandom(2);
  const { lasting, timing } = partsOf(random, (next, _, quality) => next - quality + 3 * random.normal());
  assert.ok(timing.icMean! > 0.2 && timing.p === 0.05, JSON.stringify(timing));
  assert.ok(Math.abs(lasting.icMean!) < 0.04, JSON.stringify(lasting));
});

test("forecasts without skill show none in either part, even if they follow past returns", () => {
  const random = seededRandom(3);
  let [lastingFound, timingFound] = [0, 0];
  const markets = 20;
  for (let k = 0; k < markets; k++) {
    const { lasting, timing } = partsOf(random, (_, past, quality) => {
      const month = past.slice(-20);
      return month.reduce((sum, value) => sum + value - quality, 0) / 20;
    });
    if (lasting.t! >= lasting.quantile! && lasting.p <= 0.05) lastingFound++;
    if (timing.p <= 0.05) timingFound++;
  }
  // One of 20 is expected; a mean over all dates would show skill in nearly all of them.
  assert.ok(lastingFound <= 4, String(lastingFound));
  assert.ok(timingFound <= 5, String(timingFound));
});

test("the means of earlier forecasts do not depend on later ones", () => {
  const random = seededRandom(4);
  const rows = market(random, () => random.normal());
  const changed = rows.map((row) => ({
    ...row,
    predicted: row.predicted.map((value, i) => (i < 200 ? value : 9 + value)),
    realised: row.realised.map((value, i) => (i < 200 ? value : Number.NaN)),
  }));
  const cut = rows.map((row) => ({
    ...row,
    days: row.days.slice(0, 200),
    predicted: row.predicted.slice(0, 200),
    realised: row.realised.slice(0, 200),
  }));
  assert.deepEqual(skillParts(changed, 19), skillParts(cut, 19));
});
