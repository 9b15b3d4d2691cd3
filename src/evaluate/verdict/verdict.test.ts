import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "../../../test/twins/random.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import { MIN_DATES, meanQuantile, studentQuantile } from "../../contract/output/test-quantile.ts";
import type { ForecastRows } from "../forecast-rows.ts";
import { average, slowCorrelation, slowError, sum } from "../statistics.testing.ts";
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

const slowT = (values: readonly number[]) => average(values) / slowError(values);

interface SlowRow {
  readonly ticker: string;
  readonly day: number;
  readonly y: number;
  readonly p: number;
  readonly m: number;
}

function slowRows(rows: readonly ForecastRows[]): SlowRow[] {
  return rows.flatMap(({ ticker, days, realised, predicted, trainingMean }) =>
    [...days].map((day, i) => ({ ticker, day, y: realised[i]!, p: predicted[i]!, m: trainingMean[i]! })),
  );
}

function byDate(rows: readonly SlowRow[]): SlowRow[][] {
  const days = [...new Set(rows.map(({ day }) => day))].sort((a, b) => a - b);
  return days.map((day) => rows.filter((row) => row.day === day));
}

const slowIc = (rows: readonly SlowRow[]) =>
  slowCorrelation(
    rows.map((row) => row.y),
    rows.map((row) => row.p),
  );

test("the order is the mean IC of the dates with five tickers or more, and its t", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 6, max: 9 }), (seed, tickers) => {
      const dates = 50 + 5 * tickers;
      const rows = market(seed, { tickers, dates, share: 0.05 });
      const found = orderFinding(rows, dates);
      const ics = byDate(slowRows(rows))
        .filter((date) => date.length >= MIN_ORDER_TICKERS)
        .map(slowIc);
      assert.equal(found.form, "cross_section");
      assert.equal(found.dates, ics.length);
      assert.ok(Math.abs(found.figure! - average(ics)) < 1e-9);
      assert.ok(Math.abs(found.t! - slowT(ics)) < 1e-6);
      assert.deepEqual(
        [found.quantile, found.method],
        [meanQuantile(ics.length), ics.length < 60 ? "newey_west_5" : "ewc_8"],
      );
    }),
    { numRuns: 20 },
  );
});

/** Signed returns by hand: `starts` are the rows at which a ticker's models begin. */
function slowSigned({ days, predicted, realised }: ForecastRows, starts: readonly number[], size: number) {
  return [...days].flatMap((day, i) => {
    const start = starts.findLast((row) => row <= i)!;
    if (i < 5 || i === start) return [];
    const centre = average([...predicted.subarray(start, i + 1)]);
    return [{ day, v: (Math.sign(predicted[i]! - centre) * realised[i]!) / size }];
  });
}

test("with fewer tickers, the order is over time: the returns on the side of forecasts, beside the mean of the same model so far", () => {
  const rows = market(3, { tickers: 3, dates: 120, share: 0.1 }).map((row, t) => ({
    ...row,
    // The second model of a ticker has another level.
    predicted: row.predicted.map((value, i) => value + (i < 40 ? 0 : 0.1)),
    trainingMean: row.trainingMean.map((value, i) => value + (i < 40 ? 0 : 0.001)),
    labelDeviation: 0.01 * (t + 2),
  }));
  const found = orderFinding(rows, 120);
  const all = rows.flatMap((row, t) => slowSigned(row, [0, 40], 0.01 * (t + 2)));
  const days = [...new Set(all.map(({ day }) => day))].sort((a, b) => a - b);
  const values = days.map((day) => average(all.filter((row) => row.day === day).map(({ v }) => v)));
  assert.equal(found.form, "time_series");
  assert.equal(found.dates, values.length);
  assert.ok(Math.abs(found.figure! - average(values)) < 1e-12);
  assert.ok(Math.abs(found.t! - sum(values) / Math.sqrt(sum(values.map((v) => v * v)))) < 1e-9);
  assert.deepEqual([found.method, found.quantile], ["student", studentQuantile(values.length - 1, 0.95)]);
  assert.deepEqual([found.mean_figure, found.added_t], [null, undefined]);
  assert.match(
    found.sentence,
    /^Order over time: evidence of skill \(mean return on the side of the forecast 0\.\d+ deviations, 90% band/,
  );
});

test("the tests of sizes follow their formulas, summed by date in units of each ticker", () => {
  const rows = market(5, { tickers: 4, dates: 50, share: 0.2, drift: 0.1 });
  const found = sizesFinding(rows);
  const all = slowRows(rows);
  const unit = (ticker: string) =>
    Math.sqrt(average(all.filter((row) => row.ticker === ticker).map(({ y }) => y * y)));
  for (const [name, baseline] of [
    ["zero", () => 0],
    ["mean", ({ m }: SlowRow) => m],
  ] as const) {
    const terms = (of: (row: SlowRow, r: number) => number) =>
      byDate(all).map((date) => sum(date.map((row) => of(row, baseline(row)) / unit(row.ticker) ** 2)));
    const plain = terms(({ y, p }, r) => (y - r) ** 2 - (y - p) ** 2);
    const nested = terms(({ y, p }, r) => (y - r) ** 2 - (y - p) ** 2 + (p - r) ** 2);
    const own = found.against[name];
    assert.ok(Math.abs(own.squared_error_t! - slowT(plain)) < 1e-6);
    assert.ok(Math.abs(own.clark_west_t! - slowT(nested)) < 1e-6);
    assert.ok(Math.abs(own.r2! - sum(plain) / sum(terms(({ y }, r) => (y - r) ** 2))) < 1e-9);
  }
  assert.equal(found.quantile, meanQuantile(50, 0.975));
});

test("nothing depends on the order of the tickers or the unit of the returns", () => {
  const rows = market(8, { tickers: 7, dates: 90, share: 0.1 });
  const sets = (forecasts: readonly ForecastRows[]) => [{ rows: "out_of_fold", forecasts } as const];
  const found = verdictOf(sets(rows), undefined);
  assert.deepEqual(verdictOf(sets([...rows].reverse()), undefined), found);
  const scaled = rows.map((row) => ({
    ...row,
    realised: row.realised.map((value) => value * 2 ** 20),
    predicted: row.predicted.map((value) => value * 2 ** 20),
    trainingMean: row.trainingMean.map((value) => value * 2 ** 20),
  }));
  assert.deepEqual(verdictOf(sets(scaled), undefined), found);
});

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

test("what forecasts add to the training mean is the residual of a regression on it", () => {
  const rows = market(9, { tickers: 8, dates: 60, share: 0.1, drift: 0.2 }).map((row, t) => ({
    ...row,
    trainingMean: row.trainingMean.map((value, i) => value + 0.001 * ((i * (t + 3)) % 5)),
  }));
  const found = orderFinding(rows, 60);
  const ics = byDate(slowRows(rows))
    .filter((date) => date.length >= MIN_ORDER_TICKERS)
    .map((date) => {
      const [p, m] = [average(date.map((row) => row.p)), average(date.map((row) => row.m))];
      const slope =
        sum(date.map((row) => (row.p - p) * (row.m - m))) / sum(date.map((row) => (row.m - m) ** 2));
      return slowIc(date.map((row) => ({ ...row, p: row.p - p - slope * (row.m - m) })));
    });
  assert.ok(Math.abs(found.added_figure! - average(ics)) < 1e-9);
  assert.ok(Math.abs(found.added_t! - slowT(ics)) < 1e-6);
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
