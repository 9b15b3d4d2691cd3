import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type ForecastQuery,
  type ForecastView,
  forecastViewSchema,
} from "../../contract/api/forecast-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import type { BlobAddress } from "../blobs/blobs.ts";
import { SUCCEEDED } from "../http/examples.ts";
import { toolResult } from "../mcp/tool-result.ts";
import { Forecasts } from "./forecasts.ts";

const ANN = { subject: "key:ann", scopes: new Set(["read"] as const) };
const OLDER = { n: 8, rmse: 0.01, mae: 0.008, hit_rate: null, r2_zero: 0.1, r2_mean: 0, correlation: 0.4 };
const METRICS = { ...OLDER, hit_rate: 0.5, up_share: 0.6, hit_rate_se: 0.17 };
const ICS = ["ic_mean", "ic_std", "icir", "ic_t", "rank_ic_mean", "rank_ic_std", "rank_icir", "rank_ic_t"];
const CROSS = Object.fromEntries(ICS.map((name) => [name, 0.1]));
const CROSS_SECTION = { dates: 8, mean_tickers: 4.5, ic_t_newey_west: 1.2, ...CROSS };
const TABLE = { pooled: METRICS, by_ticker: {}, cross_section: CROSS_SECTION, r2_zero_median: 0.07 };
const SHRINKAGE = { n: 8, b: 0.4, se: 0.3, s: 0.1 };
const FORECASTS = {
  ...{ dates: ["2024-03-22", "2024-03-25"], predicted: [0.2, 0.1], realised: [0.01, null] },
  ...{ lower: [0.1, -0.02], upper: [0.3, null] },
};
const COVERAGE = {
  ...{ n: 8, coverage: 0.875, mean_width: 0.03, interval_score: 0.05, worst_250: null },
  prequential: { n: 20, coverage: 0.9 },
};
/** As in an output: with the tables that an answer omits. */
const EVIDENCE = { ...COVERAGE, by_year: { "2024": { n: 8 } }, high_volatility: { n: 1 } };

/** The text of an output with this `mu` in this order, also for names like `10` and `__proto__`. */
function output(mu: readonly (readonly [string, number])[], more: Record<string, unknown> = {}): string {
  const byTicker = (value: unknown) =>
    `{${mu.map(([ticker]) => `${JSON.stringify(ticker)}:${JSON.stringify(value)}`).join(",")}}`;
  const members = {
    ...{ schema: "mucast.forecast/1", operation: "run_ml_job", id: "one" },
    window: { start: "2024-01-02", end: "2024-03-25", learning_end: null, as_of: "2024-03-25" },
    mu: "MU",
    forecasts: "FORECASTS",
    cross_validation: { mu: { folds: [{ metrics: 1 }], dates: [] } },
    metrics: {
      score: { ...TABLE, by_ticker: "METRICS" },
      out_of_fold: TABLE,
      baselines: { zero: { score: TABLE, out_of_fold: TABLE }, mean: { score: TABLE } },
      shrinkage: { pooled: { ...SHRINKAGE, n: 16 }, by_ticker: "SHRINKAGE" },
      intervals: {
        ...{ method: "adaptive", alpha: 0.2, bound: "both", constants: { fast_decay: 0.9 } },
        ...{ pooled: EVIDENCE, by_ticker: "EVIDENCE" },
        other_methods: { split: { pooled: EVIDENCE, by_ticker: {}, score_ratio: 0.9 } },
      },
    },
    model: { name: "ridge", mu: [{}] },
    warnings: [],
    failures: [],
    ...more,
  };
  return JSON.stringify(members)
    .replace('"MU"', () => `{${mu.map(([ticker, value]) => `${JSON.stringify(ticker)}:${value}`).join(",")}}`)
    .replace('"FORECASTS"', () => byTicker(FORECASTS))
    .replace('"METRICS"', () => byTicker(METRICS))
    .replace('"SHRINKAGE"', () => byTicker(SHRINKAGE))
    .replace('"EVIDENCE"', () => byTicker(EVIDENCE));
}

/** A fake store of one output, in pieces of a few bytes. */
function storeOf(text: string, onRead: () => Promise<void> | void = () => undefined) {
  const bytes = Buffer.from(text);
  const store = {
    stat: async () => ({ size: bytes.length, etag: '"1"' }),
    async *read() {
      await onRead();
      for (let at = 0; at < bytes.length; at += 97) yield bytes.subarray(at, at + 97);
    },
  };
  const found = { space: "", store: store as unknown as BlobAddress["store"], key: "data/one.json" };
  return { find: async () => found };
}

async function ask(text: string, query: Partial<ForecastQuery> = {}): Promise<ForecastView> {
  const view = await new Forecasts(storeOf(text)).of(ANN, SUCCEEDED, { id: "one", ...query });
  return forecastViewSchema.parse(view);
}

/** What an agent reads. */
const textOf = (view: ForecastView) => (toolResult(view).content[0] as { text: string }).text;

async function refusal(attempt: Promise<unknown>): Promise<MucastError> {
  const error = await attempt.then(() => assert.fail("it was answered")).catch((error: unknown) => error);
  assert.ok(error instanceof MucastError, String(error));
  return error;
}

describe("a forecast", () => {
  test("has the date and the spread of each mu if the output has them", async () => {
    const mu = [
      ["A", 0.001],
      ["B", -0.003],
    ] as const;
    const beside = { mu_dates: { A: "2024-03-25", B: "2024-03-21" }, mu_spread: { A: 0.1, B: 0.0004 } };
    const { forecasts } = await ask(output(mu, beside), { limit: 1 });
    const [{ ticker, mu_date, mu_spread }] = forecasts as unknown as [(typeof forecasts)[number]];
    assert.deepEqual([ticker, mu_date, mu_spread], ["B", "2024-03-21", 0.0004]);
    assert.ok(!Object.hasOwn(forecasts[0]!, "interval"), "its newest forecasts have another date");
    const [older] = (await ask(output(mu), { limit: 1 })).forecasts;
    assert.ok(!Object.hasOwn(older!, "mu_date") && !Object.hasOwn(older!, "mu_spread"));
  });

  test("says how often models were refitted, and when last", async () => {
    const dates = ["2024-03-01", "2024-03-11", "2024-03-20"];
    for (const [starts, wanted] of [
      [dates, { count: 2, last: "2024-03-20" }],
      [dates.slice(0, 1), undefined],
      [[], undefined],
    ] as const) {
      const blocks = starts.map((start) => ({ start, end: start, fit_rows: 9 }));
      const refits = { blocks, by_ticker: { A: { label_means: [0, 1], blocks: [] } } };
      const view = await ask(output([["A", 0.001]], { refits }));
      assert.deepEqual(view.refits, wanted);
      assert.equal(textOf(view).includes("Models refitted"), wanted !== undefined);
    }
  });

  test("has the candidates of a choice, the largest gain first, and as many as fit", async () => {
    const gains = { r2: 0.001, ic: 0.02, gain: 0.002, gain_t: 1.5 };
    const choiceOf = (count: number, label = "ridge") => ({
      candidates: Array.from({ length: count }, (_, i) => ({
        ...{ label: `${label} ${i}`, ...gains, gain: i / 1_000, tickers: 2, member: i > 1 },
        settings: { model: "ridge", model_params: { alpha: i } },
      })),
      ...{ members: [2], changes: [{ date: "2024-01-02", members: [2] }], honest: gains },
      ...{ best: 2, optimism: 0.0004, losses: { reference: 0, dates: [], excess: [] } },
    });
    const view = await ask(output([["A", 0.001]], { choice: choiceOf(3) }));
    const { candidates, ...rest } = view.choice!;
    assert.deepEqual(rest, { count: 3, honest: gains, best: 2, optimism: 0.0004 });
    assert.deepEqual(
      candidates.map(({ number, gain, ic }) => [number, gain, ic]),
      [
        [2, 0.002, 0.02],
        [1, 0.001, 0.02],
        [0, 0, 0.02],
      ],
    );
    assert.ok(!Object.hasOwn(candidates[0]!, "settings"));
    assert.match(textOf(view), /^Chosen among 3 candidates: R² 0\.001 on held-out rows/m);
    assert.match(
      textOf(view),
      /^Candidate 2, "ridge 2", member: R² 0\.001, IC 0\.02, gain 0\.002 \(t 1\.5\)$/m,
    );
    const many = await ask(output([["A", 0.001]], { choice: choiceOf(100) }));
    assert.deepEqual([many.choice!.candidates.length, many.choice!.count], [20, 100]);
    const long = await ask(output([["A", 0.001]], { choice: choiceOf(100, "\u0001".repeat(9_000)) }));
    assert.ok(Buffer.byteLength(JSON.stringify(long.choice)) < 9_000);
    assert.equal((await ask(output([["A", 0.001]]))).choice, undefined);
  });

  test("has the largest |mu| first, with metrics, coverage and baselines", async () => {
    const mu = [
      ["A", 0.001],
      ["B", -0.003],
      ["C", 0.002],
      ["D", -0.002],
    ] as const;
    const view = await ask(output(mu), { limit: 3 });
    assert.deepEqual(
      view.forecasts.map(({ ticker, mu }) => [ticker, mu]),
      [
        ["B", -0.003],
        ["C", 0.002],
        ["D", -0.002],
      ],
    );
    assert.deepEqual([view.forecasts[0]!.metrics, view.forecasts[0]!.coverage], [METRICS, COVERAGE]);
    assert.deepEqual(view.forecasts[0]!.interval, { lower: -0.02, upper: null });
    assert.deepEqual([view.count, view.left_out, view.missing], [4, 0, []]);
    const { by_ticker: _, ...quality } = TABLE;
    assert.deepEqual(view.metrics.score, quality);
    assert.deepEqual(view.metrics.out_of_fold, view.metrics.score);
    assert.deepEqual(view.metrics.baselines, { zero: METRICS, mean: METRICS });
    assert.deepEqual(view.metrics.shrinkage, { ...SHRINKAGE, n: 16 });
    assert.ok(view.forecasts.every(({ shrinkage }) => shrinkage?.b === SHRINKAGE.b));
    assert.deepEqual(view.intervals, { method: "adaptive", alpha: 0.2, bound: "both", pooled: COVERAGE });
    assert.equal((await ask(output(mu))).forecasts.length, 4);
  });

  test("of an older output omits the figures that the output lacks", async () => {
    const table = { pooled: OLDER, by_ticker: {}, cross_section: { dates: 8, ...CROSS } };
    const metrics = { score: table, baselines: { zero: { score: table }, mean: { score: table } } };
    const view = await ask(output([["A", 0.001]], { metrics: { ...metrics, intervals: null } }));
    assert.deepEqual(view.metrics.score, { pooled: OLDER, cross_section: table.cross_section });
    assert.deepEqual(view.metrics.baselines.zero, OLDER);
    assert.ok(!Object.hasOwn(view.metrics, "shrinkage") && !Object.hasOwn(view.forecasts[0]!, "shrinkage"));
    assert.ok(!Object.hasOwn(view.forecasts[0]!, "interval"), "it has no intervals");
  });

  test("has the named tickers in their order, and says why others have none", async () => {
    const names = ["10", "9", "__proto__", 'x"\n\u001b', "constructor"];
    const mu = names.map((name, i) => [name, i / 1_000] as const);
    const more = {
      warnings: [
        { code: "missing_features", message: "S: 5 rows lack a feature", ticker: "S", count: 5 },
        { code: "stale_ticker", message: "S has no mu", ticker: "S" },
      ],
      failures: [{ ticker: "F", code: "fit_failed", message: "F: singular" }],
    };
    const tickers = [...names.toReversed(), "S", "F", "toString"];
    const view = await ask(output(mu, more), { tickers });
    assert.deepEqual(
      view.forecasts.map(({ ticker }) => ticker),
      names.toReversed(),
    );
    assert.ok(view.forecasts.every(({ metrics }) => metrics?.n === 8));
    assert.deepEqual(view.missing, [
      { ticker: "S", code: "stale_ticker", message: "S has no mu" },
      { ticker: "F", code: "fit_failed", message: "F: singular" },
      { ticker: "toString", code: null, message: "the output has no such ticker" },
    ]);
  });

  test("stays small whatever the names of tickers, and counts the omitted ones", async () => {
    const names = Array.from({ length: 50 }, (_, i) => `${"\u0001".repeat(990)}${i}`);
    const view = await ask(output(names.map((name, i) => [name, i / 1_000])), { limit: 50 });
    assert.ok(Buffer.byteLength(JSON.stringify(view)) < 70_000);
    assert.ok(view.forecasts.length > 0 && view.left_out > 0);
    assert.equal(view.forecasts.length + view.left_out, 50);
  });

  test("is refused if mu is not as jobs write it, and not treated as one without tickers", async () => {
    const mu = '"mu":{"A":0.1}';
    for (const odd of [
      '"x"',
      "null",
      "[1]",
      '{"A":"x"}',
      '{"A":null}',
      '{"A":1e999}',
      '{"A":NaN}',
      undefined,
    ]) {
      const damaged = output([["A", 0.1]]).replace(odd ? mu : `${mu},`, () => (odd ? `"mu":${odd}` : ""));
      assert.equal((await refusal(ask(damaged))).code, "invalid_data", odd);
    }
    assert.deepEqual((await ask(output([]))).forecasts, [], "as if a job had trained nothing");
  });

  test("is refused if the blob is not an output, or is truncated", async () => {
    const whole = output([["A", 0.1]]);
    assert.equal((await refusal(ask(whole.replace("forecast/1", "forecast/9")))).code, "invalid_data");
    const { title, advice } = problemOf(await refusal(ask("[1]")));
    assert.equal(title, "The document is not an output of a job");
    assert.match(advice, /edited or replaced after the job/);
    assert.equal((await refusal(ask(whole.slice(0, -80)))).code, "unreadable_blob");
  });
});

describe("reading outputs", () => {
  const TEXT = output([["A", 0.1]]);

  test("is refused for an operation that has not succeeded, and if the output is gone", async () => {
    const early = { ...SUCCEEDED, status: "Running", result: null } as const;
    const running = await refusal(new Forecasts(storeOf(TEXT)).of(ANN, early, { id: "one" }));
    assert.deepEqual([running.code, running.data.operation_status], ["no_result", "Running"]);
    const gone = { find: async () => undefined };
    assert.equal((await refusal(new Forecasts(gone).of(ANN, SUCCEEDED, { id: "one" }))).code, "not_found");
  });

  test("happens once for the same query", async () => {
    let reads = 0;
    const forecasts = new Forecasts(storeOf(TEXT, () => void reads++));
    const first = await forecasts.of(ANN, SUCCEEDED, { id: "one" });
    assert.equal(await forecasts.of(ANN, SUCCEEDED, { id: "one" }), first);
    await forecasts.of(ANN, SUCCEEDED, { id: "one", tickers: ["A"] });
    assert.equal(reads, 2);
  });

  test("happens for four requests at a time; further ones are refused", async () => {
    const gate = Promise.withResolvers<void>();
    const forecasts = new Forecasts(storeOf(TEXT, () => gate.promise));
    const ask = (ticker: string) => forecasts.of(ANN, SUCCEEDED, { id: "one", tickers: [ticker] });
    const asked = ["A", "B", "C", "D"].map(ask);
    const refused = await refusal(ask("E"));
    assert.deepEqual([refused.code, refused.data.retryAfter], ["unavailable", 1]);
    gate.resolve();
    assert.equal((await Promise.all(asked)).length, 4);
    assert.equal((await ask("E")).missing.length, 1);
  });
});
