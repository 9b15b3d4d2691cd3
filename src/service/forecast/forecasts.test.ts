import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type ForecastQuery,
  type ForecastView,
  forecastViewSchema,
} from "../../contract/api/forecast-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { mlText } from "../../outputs/outputs.testing.ts";
import type { BlobAddress } from "../blobs/blobs.ts";
import { SUCCEEDED } from "../http/examples.ts";
import { toolResult } from "../mcp/tool-result.ts";
import { Forecasts } from "./forecasts.ts";

const ANN = { subject: "key:ann", scopes: new Set(["read"] as const) };
const INTERVALS = { intervals: { alpha: 0.2 } };
const TEXT = mlText({
  tickers: ["A", "B", "C", "D"],
  skill: 0.3,
  config: { ...INTERVALS, shrinkage: "own" },
});
const OUTPUT = JSON.parse(TEXT);

function edited(change: (output: typeof OUTPUT) => unknown): string {
  const output = structuredClone(OUTPUT);
  change(output);
  return JSON.stringify(output);
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
  test("has the largest |mu| first, with all that the output says of each ticker, and no table by year", async () => {
    const { mu, mu_dates, metrics, forecasts: series } = OUTPUT;
    const { score, out_of_fold, baselines, shrinkage, intervals } = metrics;
    const view = await ask(TEXT, { limit: 3 });
    const sorted = Object.keys(mu).sort((a, b) => Math.abs(mu[b]) - Math.abs(mu[a]));
    assert.deepEqual([view.count, view.left_out, view.missing], [4, 0, []]);
    const coverageOf = ({ by_year: _, high_volatility: __, ...rest }: Record<string, unknown>) => rest;
    assert.deepEqual(
      view.forecasts,
      sorted.slice(0, 3).map((ticker) => ({
        ticker,
        mu: mu[ticker],
        mu_date: mu_dates[ticker],
        factor: shrinkage.applied[ticker],
        interval: { lower: series[ticker].lower.at(-1), upper: series[ticker].upper.at(-1) },
        metrics: score.by_ticker[ticker],
        coverage: coverageOf(intervals.by_ticker[ticker]),
        shrinkage: shrinkage.by_ticker[ticker],
      })),
    );
    const { by_ticker: _, ...quality } = score;
    assert.deepEqual(view.metrics.score, quality);
    const { by_ticker: __, ...outOfFold } = out_of_fold;
    assert.deepEqual(view.metrics.out_of_fold, outOfFold);
    assert.deepEqual(view.metrics.baselines.zero, baselines.zero.score.pooled);
    assert.deepEqual(view.metrics.shrinkage, shrinkage.pooled);
    const { method, alpha, bound, pooled } = intervals;
    assert.deepEqual(view.intervals, { method, alpha, bound, pooled: coverageOf(pooled) });
    assert.equal((await ask(TEXT)).forecasts.length, 4);
  });

  test("has the candidates of a choice, the largest gain first, and as many as fit", async () => {
    const choice = { candidates: [{ grid: { alpha: [2, 3] } }], warm_up: 2 };
    const text = mlText({ folds: 4, skills: [0, 0.3, 0.1], config: { n_splits: 2, choice } });
    const written = JSON.parse(text).choice;
    const view = await ask(text);
    const { candidates, ...rest } = view.choice!;
    const { honest, best, measure, optimism } = written;
    assert.deepEqual(rest, { count: 3, honest, best, measure, optimism });
    assert.deepEqual(
      candidates.map(({ number }) => number),
      [1, 2, 0],
    );
    assert.ok(!Object.hasOwn(candidates[0]!, "settings"));
    assert.match(textOf(view), /^Chosen among 3 candidates: R² .* on held-out rows/m);
    assert.match(textOf(view), /^Candidate \d, ".*", member: R² /m);
    const long = Array.from({ length: 100 }, () => ({ ...candidates[0], label: "\u0001".repeat(9_000) }));
    const wide = await ask(
      edited((output) => Object.assign(output, { choice: { ...written, candidates: long } })),
    );
    assert.equal(wide.choice!.count, 100);
    assert.ok(Buffer.byteLength(JSON.stringify(wide.choice)) < 9_000);
  });

  test("has the named tickers in their order, and says why others have none", async () => {
    const names = ["10", "9", "__proto__", 'x"\n\u001b', "constructor"];
    const output = JSON.parse(mlText({ tickers: names }));
    output.warnings = [
      { code: "missing_features", message: "S: 5 rows lack a feature", ticker: "S", count: 5 },
      { code: "stale_ticker", message: "S has no mu", ticker: "S" },
    ];
    output.failures = [{ ticker: "F", code: "fit_failed", message: "F: singular" }];
    const tickers = [...names.toReversed(), "S", "F", "toString"];
    const view = await ask(JSON.stringify(output), { tickers });
    assert.deepEqual(
      view.forecasts.map(({ ticker, metrics }) => [ticker, typeof metrics?.n]),
      names.toReversed().map((name) => [name, "number"]),
    );
    assert.deepEqual(view.missing, [
      { ticker: "S", code: "stale_ticker", message: "S has no mu" },
      { ticker: "F", code: "fit_failed", message: "F: singular" },
      { ticker: "toString", code: null, message: "the output has no such ticker" },
    ]);
  });

  test("stays small whatever the names of tickers, and counts the omitted ones", async () => {
    const mu = Array.from({ length: 50 }, (_, i) => [`${"\u0001".repeat(990)}${i}`, i / 1_000]);
    const text = edited((output) => Object.assign(output, { mu: Object.fromEntries(mu) }));
    const view = await ask(text, { limit: 50 });
    assert.ok(Buffer.byteLength(JSON.stringify(view)) < 70_000);
    assert.ok(view.forecasts.length > 0 && view.left_out > 0);
    assert.equal(view.forecasts.length + view.left_out, 50);
  });

  test("is refused if the blob is not an output, is truncated, or has a mu that no job writes", async () => {
    const whole = mlText({ tickers: ["A"] });
    for (const odd of ['"x"', "null", '{"A":"x"}', '{"A":null}', '{"A":1e999}', undefined]) {
      const damaged = whole.replace(/"mu":\s*\{[^}]*\},/, () => (odd ? `"mu":${odd},` : ""));
      assert.equal((await refusal(ask(damaged))).code, "invalid_data", odd);
    }
    assert.equal((await refusal(ask(whole.replace("forecast/1", "forecast/9")))).code, "invalid_data");
    const { title, advice } = problemOf(await refusal(ask("[1]")));
    assert.equal(title, "The document is not an output of a job");
    assert.match(advice, /edited or replaced after the job/);
    assert.equal((await refusal(ask(whole.slice(0, -80)))).code, "unreadable_blob");
  });
});

describe("reading outputs", () => {
  test("is refused for an operation that has not succeeded, and if the output is gone", async () => {
    const early = { ...SUCCEEDED, status: "Running", result: null } as const;
    const running = await refusal(new Forecasts(storeOf(TEXT)).of(ANN, early, { id: "one" }));
    assert.deepEqual([running.code, running.data.operation_status], ["no_result", "Running"]);
    const gone = { find: async () => undefined };
    assert.equal((await refusal(new Forecasts(gone).of(ANN, SUCCEEDED, { id: "one" }))).code, "not_found");
  });

  test("happens once for the same query, and for four requests at a time", async () => {
    const gate = Promise.withResolvers<void>();
    let reads = 0;
    const onRead = () => {
      reads += 1;
      return gate.promise;
    };
    const forecasts = new Forecasts(storeOf(TEXT, onRead));
    const ask = (ticker: string) => forecasts.of(ANN, SUCCEEDED, { id: "one", tickers: [ticker] });
    const asked = ["A", "B", "C", "D"].map(ask);
    const refused = await refusal(ask("E"));
    assert.deepEqual([refused.code, refused.data.retryAfter], ["unavailable", 1]);
    gate.resolve();
    const [first] = await Promise.all(asked);
    assert.equal(await ask("A"), first);
    assert.equal(reads, 4);
    assert.equal((await ask("E")).missing.length, 1);
  });
});
