import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../test/twins/random.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import type { ForecastRows } from "../forecast-rows.ts";
import { intervalsFinding, orderFinding, sizesFinding } from "./findings.ts";
import { verdictOf } from "./verdict.ts";

interface MarketOptions {
  readonly tickers: number;
  readonly dates: number;
  /** The share of a label's surprise that a forecast contains. */
  readonly share?: number;
  /** The mean of labels, in their deviations. */
  readonly drift?: number;
  /** The size of a forecast's noise, in the labels' deviations. */
  readonly noise?: number;
}

/** Tickers of different volatility, each on most dates. A forecast is the training mean, `share` of the surprise, and noise. */
function market(
  seed: number,
  { tickers, dates, share = 0, drift = 0, noise = 0.3 }: MarketOptions,
): ForecastRows[] {
  const random = seededRandom(seed);
  return Array.from({ length: tickers }, (_, t) => {
    const size = 0.01 * (t + 1);
    const days = Int32Array.from({ length: dates }, (_day, d) => 100 + d).filter(
      () => random.uniform() < 0.9,
    );
    const realised = Float64Array.from(days, () => size * (drift + random.normal()));
    const learned = size * (drift + random.normal() / Math.sqrt(500));
    const predicted = realised.map(
      (y) => learned + share * (y - size * drift) + noise * size * random.normal(),
    );
    return { ticker: `T${t}`, days, realised, predicted, trainingMean: realised.map(() => learned) };
  });
}

test("forecasts with skill and the wrong size are oversized, and those without skill are none or worse", () => {
  const state = (options: MarketOptions) =>
    verdictOf([{ rows: "out_of_fold", forecasts: market(4, options) }], undefined).state;
  const many = { tickers: 20, dates: 300 };
  assert.equal(state({ ...many, share: 0.2, noise: 0.1 }), "skill");
  assert.equal(state({ ...many, share: 0.05, noise: 0.8 }), "oversized");
  assert.equal(state({ ...many, noise: 0.8 }), "worse");
  assert.equal(state({ ...many, noise: 0.01 }), "none");
  assert.equal(state({ ...many, share: -0.2, noise: 0.1 }), "worse");
  assert.equal(state({ ...many, dates: MIN_DATES - 1, share: 0.5 }), "too_few");
});

/** Tickers whose means differ permanently, so that these rank the returns of most dates; forecasts are the means plus `change`. */
function lastingMarket(change: (value: number, i: number, t: number) => number): ForecastRows[] {
  return market(2, { tickers: 12, dates: 200, noise: 0.05 }).map((row, t) => {
    const lasting = 0.02 * (t - 6);
    return {
      ...row,
      realised: row.realised.map((y) => y + lasting),
      predicted: row.predicted.map((_, i) => change(lasting, i, t)),
      trainingMean: row.trainingMean.map(() => lasting),
    };
  });
}

test("a model that has learned only the training means adds nothing to them, whatever its factor", () => {
  for (const factor of [1, 0.3, 1 + 1e-9]) {
    const found = orderFinding(
      lastingMarket((value, i) => factor * value * (1 + 1e-9 * (i % 3))),
      200,
    );
    assert.ok(found.t! > found.quantile!);
    assert.deepEqual([found.state, found.added_figure, found.added_t], ["none", null, null]);
    assert.match(found.sentence, /what the forecasts add to the mean: nothing\)\.$/);
  }
});

test("constant forecasts have no order, and the verdict says so", () => {
  const rows = market(2, { tickers: 6, dates: 60 }).map((row) => ({
    ...row,
    predicted: row.predicted.map(() => 0),
  }));
  const found = verdictOf([{ rows: "out_of_fold", forecasts: rows }], undefined);
  assert.equal(found.state, "none");
  assert.equal(found.judged[0]!.order.t, null);
  assert.match(found.sentence, /forecasts of a date do not differ/);
  assert.match(
    found.sentence,
    /Clark-West t -?[\d.]+ against the training mean, .* needed; they add nothing to a forecast of zero\)/,
  );
});

test("250 dates of score rows make the headline, and rows that disagree are named", () => {
  const skilled = market(1, { tickers: 8, dates: 100, share: 0.2, noise: 0.1 });
  const noise = (dates: number) => market(6, { tickers: 8, dates, noise: 0.01 });
  const judged = (dates: number) =>
    verdictOf(
      [
        { rows: "out_of_fold", forecasts: skilled },
        { rows: "score", forecasts: noise(dates) },
      ],
      undefined,
    );
  assert.deepEqual([judged(249).rows, judged(249).state], ["out_of_fold", "skill"]);
  assert.match(
    judged(249).sentence,
    /The score rows \(249 dates\) disagree by more than chance: mean IC -?0\.\d{3}, 90% band .* to .*\.$/,
  );
  assert.deepEqual([judged(260).rows, judged(260).state], ["score", "none"]);
  assert.deepEqual(
    judged(260).judged.map(({ rows }) => rows),
    ["score", "out_of_fold"],
  );
  assert.match(judged(260).sentence, /The out-of-fold rows \(100 dates\) disagree by more than chance: /);
});

test("published sizes are evidence only if their squared error is smaller, whatever the model knows", () => {
  const own = market(5, { tickers: 10, dates: 300, share: 0.1, noise: 0.1 });
  const large = own.map((row) => ({ ...row, predicted: row.predicted.map((p) => 15 * p) }));
  const [small, oversized] = [own, large].map((rows) => sizesFinding(rows));
  assert.deepEqual([small!.state, small!.informative], ["evidence", true]);
  assert.deepEqual([oversized!.state, oversized!.informative], ["worse", true]);
  // The model's test judges forecasts before shrinkage.
  const shrunk = own.map((row) => ({ ...row, ranked: row.predicted, predicted: row.predicted.map(() => 0) }));
  const found = sizesFinding(shrunk);
  assert.deepEqual([found.state, found.informative], ["none", true]);
  assert.equal(found.against.mean.clark_west_t, small!.against.mean.clark_west_t);
  assert.match(
    found.sentence,
    /^Sizes: no evidence of skill \(.*\)\. Before shrinkage, the model's forecasts show information about sizes/,
  );
});

test("intervals cover the requested share, or are too narrow or too wide by more than chance and a tenth of the misses", () => {
  const random = seededRandom(9);
  const state = (share: number, dates = 400) => {
    const inside = Float64Array.from({ length: dates }, () => {
      let hits = 0;
      for (let i = 0; i < 20; i++) if (random.uniform() < share) hits++;
      return hits;
    });
    const byDate = { days: new Int32Array(dates), inside, counted: inside.map(() => 20) };
    return intervalsFinding({ byDate }, { alpha: 0.1, method: "adaptive" }).state;
  };
  assert.deepEqual(
    [state(0.9), state(0.85), state(0.95), state(0.9, 20)],
    ["evidence", "worse", "none", "too_few"],
  );
});
