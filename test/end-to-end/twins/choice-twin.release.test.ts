/**
 * `choice` matches the numbers of a plain script written from docs/semantics.md: the forecasts, the members by date and at the end, their
 * losses, what choosing was worth, and the warnings.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { OutputChoice } from "../../../src/contract/output/choice.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { findEnvironment } from "../../../src/engine/environment/environment.ts";
import { type BlobPair, removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import type { Market } from "../markets/market.ts";
import { dirtyPanelMarket, lateListings, learningUntil, panelMarket } from "../markets/panel-market.ts";
import { askTwin, assertClose, assertSameForecasts } from "./plain-twin.ts";

/** Largest difference between two forecasts, log-return. */
const FORECAST_TOLERANCE = 1e-9;

/** Largest difference between two figures of the choice. */
const TOLERANCE = 1e-9;

interface ChoiceTwin {
  readonly failures: readonly string[];
  readonly mu: OutputBlob["mu"];
  readonly tickers: Readonly<
    Record<
      string,
      {
        readonly folds: readonly number[];
        readonly out_of_fold: readonly (readonly [string, number])[];
        readonly score: readonly (readonly [string, number])[];
        readonly lower: readonly (number | null)[];
        readonly upper: readonly (number | null)[];
      }
    >
  >;
  readonly choice: Pick<OutputChoice, "members" | "honest" | "best" | "optimism" | "losses"> & {
    /** By number: `r2`, `ic`, `gain`, `gain_t`, `tickers` and `member`. */
    readonly candidates: readonly Partial<OutputChoice["candidates"][number]>[];
    /** The common members of each first date of a published fold. */
    readonly members_by_date: readonly (readonly [string, readonly number[]])[];
    readonly warnings: readonly { readonly code: string; readonly count: number | null }[];
  };
}

const RIDGE = {
  model: "ridge",
  model_params: { alpha: 10 },
  scaler: "standard",
  cv_test_size: 6,
  n_splits: 6,
};
const TREES = { n_estimators: 5, num_leaves: 4, min_child_samples: 5 };
const LIGHTGBM = { model: "lightgbm", scaler: "none", model_params: TREES };
/** It fails on tickers with another number of columns. */
const SIX_COLUMNS = { ...LIGHTGBM, model_params: { ...TREES, monotone_constraints: [1, 0, 0, 0, 0, 0] } };
const NO_TICKER = {
  ...LIGHTGBM,
  fit: "pooled",
  model_params: { ...TREES, monotone_constraints: [1] },
};
const PANEL = { fit: "pooled", target: "relative", cross_section: true };
const OWN = { fit: "per_ticker", target: "return", cross_section: false };
const LINEAR = [
  { model: "ridge", scaler: "standard", fit: "per_ticker", grid: { alpha: [1, 1000] } },
  { model: "linear" },
];
const MANY = [
  { model: "lasso", grid: { alpha: [0.0001, 0.01] } },
  { model: "ridge", fit: "pooled", model_params: { alpha: 100 } },
  { target: "relative", cross_section: true },
];

type Case = readonly [name: string, params: object];

const CASES: readonly Case[] = [
  [
    "a candidate that fails on some tickers, and a longer warm-up than there are rows",
    { ...RIDGE, choice: { candidates: [SIX_COLUMNS, { model_params: { alpha: 300 } }], warm_up: 40 } },
  ],
  [
    "refits, shrinkage and intervals; candidate 0 fails on every ticker",
    {
      ...{ ...RIDGE, ...NO_TICKER, refit_every: 10, shrinkage: "pooled", intervals: { alpha: 0.2 } },
      choice: { candidates: LINEAR, warm_up: 4 },
    },
  ],
  [
    "a pooled relative candidate 0, others per ticker, and refits",
    {
      ...{ ...RIDGE, ...PANEL, refit_every: 7 },
      choice: {
        candidates: [OWN, { target: "return" }, { model: "lasso", model_params: { alpha: 0.002 } }],
        warm_up: 5,
      },
    },
  ],
  [
    "too few dates for a gain",
    {
      ...{ ...RIDGE, cv_test_size: 2, n_splits: 3 },
      choice: { candidates: [{ grid: { alpha: [1, 1000] } }], warm_up: 2 },
    },
  ],
];

const MORE_CASES: readonly Case[] = [
  ["members by squared error", { ...RIDGE, choice: { candidates: MANY, warm_up: 6 } }],
  [
    "members, a trade three closes later",
    { ...RIDGE, delay: 3, refit_every: 10, intervals: {}, choice: { candidates: MANY, warm_up: 4 } },
  ],
  [
    "members by IC, with intervals",
    {
      ...{ ...RIDGE, intervals: {} },
      choice: { candidates: [...MANY, LIGHTGBM], warm_up: 6, measure: "ic" },
    },
  ],
  [
    "refits, shrinkage and intervals",
    {
      ...{ ...RIDGE, refit_every: 10, shrinkage: "pooled", intervals: {} },
      choice: { candidates: MANY, warm_up: 4 },
    },
  ],
  [
    "the best alone; candidate 0 fails on some tickers",
    { ...RIDGE, ...SIX_COLUMNS, choice: { candidates: LINEAR, warm_up: 4, rule: "best" } },
  ],
  [
    "the best alone, in small folds",
    {
      ...{ ...RIDGE, cv_test_size: 3, n_splits: 14 },
      choice: {
        candidates: [{ grid: { alpha: [1, 1000, 100_000] } }, LIGHTGBM, { fit: "pooled" }],
        warm_up: 14,
        rule: "best",
      },
    },
  ],
  [
    "a window and refits",
    {
      ...{ ...RIDGE, window: 45, refit_every: 12 },
      choice: {
        candidates: [
          { fit: "pooled" },
          { target: "relative" },
          { model: "lasso", model_params: { alpha: 0.005 } },
        ],
        ...{ warm_up: 5, rule: "best" },
      },
    },
  ],
  [
    "the smallest folds",
    {
      ...{ ...RIDGE, cv_test_size: 2, n_splits: 20 },
      choice: {
        candidates: [{ grid: { alpha: [1, 1000] } }, LIGHTGBM, { fit: "pooled", target: "relative" }],
      },
    },
  ],
];

const DIRTY = learningUntil("2021-06-04", lateListings(dirtyPanelMarket()));

/** Each market with its cases. */
const RUNS: readonly (readonly [name: string, market: Market, cases: readonly Case[]])[] = [
  ["clean blobs", panelMarket(), MORE_CASES],
  ["dirty blobs", DIRTY, [...CASES, ...MORE_CASES]],
];

function configOf([, params]: Case): string {
  return JSON.stringify({ "ML params": params });
}

const pairs: BlobPair[] = [];
let twins: ChoiceTwin[][];

before(async () => {
  for (const [, market] of RUNS) pairs.push(await writeMarket(market));
  const request = pairs.map(({ features, prices }, i) => ({
    ...{ features, prices },
    configs: RUNS[i]![2].map(configOf),
  }));
  twins = await askTwin<ChoiceTwin[][]>("plain_choice_job.py", findEnvironment().python, request);
});
after(removeFolders);

describe("the numbers of a plain script", { concurrency: 2 }, () => {
  for (const [i, [market, , cases]] of RUNS.entries()) {
    for (const [c, own] of cases.entries()) {
      test(`${own[0]}, on ${market}`, async () => {
        const { output } = await runJob(pairs[i]!, configOf(own));
        assertValid("output-blob", output);
        assertSame(output, twins[i]![c]!);
      });
    }
  }

  test("are about every kind of choice", () => {
    const choices = twins.flat().map(({ choice }) => choice);
    const codes = new Set(choices.flatMap(({ warnings }) => warnings.map(({ code }) => code)));
    assert.deepEqual([...codes].sort(), ["candidate_failed", "choice_is_noise", "few_choice_rows"]);
    assert.ok(choices.some(({ members_by_date: by }) => new Set(by.map(([, own]) => String(own))).size > 2));
    assert.ok(choices.some(({ honest }) => honest.gain !== null));
  });
});

function assertSame(output: OutputBlob, twin: ChoiceTwin): void {
  assert.deepEqual(
    output.failures.map(({ ticker }) => ticker),
    twin.failures,
  );
  assertClose(output.mu, twin.mu, FORECAST_TOLERANCE, "mu");
  assert.deepEqual(Object.keys(output.forecasts).sort(), Object.keys(twin.tickers).sort());
  for (const [ticker, expected] of Object.entries(twin.tickers)) {
    const tested = output.cross_validation![ticker]!;
    assert.deepEqual(
      tested.folds.map(({ train_rows }) => train_rows),
      expected.folds,
      ticker,
    );
    assertSameForecasts(tested, expected.out_of_fold, FORECAST_TOLERANCE, `${ticker} out of fold`);
    const forecast = output.forecasts[ticker]!;
    assertSameForecasts(forecast, expected.score, FORECAST_TOLERANCE, ticker);
    assertClose(forecast.lower, expected.lower, FORECAST_TOLERANCE, `${ticker} lower`);
    assertClose(forecast.upper, expected.upper, FORECAST_TOLERANCE, `${ticker} upper`);
  }
  assertSameChoice(output.choice!, twin.choice);
  const found = output.warnings.filter(({ code }) => CHOICE_CODES.has(code));
  assert.deepEqual(
    found.map(({ code, count = null }) => ({ code, count })),
    twin.choice.warnings,
  );
}

const CHOICE_CODES: ReadonlySet<string> = new Set(["choice_is_noise", "candidate_failed", "few_choice_rows"]);

function assertSameChoice(choice: OutputChoice, twin: ChoiceTwin["choice"]): void {
  const { members, changes, honest, best, optimism, losses } = choice;
  assert.deepEqual({ members, best }, pick(twin, "members", "best"));
  for (const [date, expected] of twin.members_by_date) {
    assert.deepEqual(changes.findLast((change) => change.date <= date)?.members, expected, date);
  }
  const candidates = choice.candidates.map(({ label: _, settings: __, ...figures }) => figures);
  const actual = { candidates, honest, optimism, losses };
  assertClose(actual, pick(twin, "candidates", "honest", "optimism", "losses"), TOLERANCE, "choice");
}

function pick<T extends object, K extends keyof T>(of: T, ...keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.map((key) => [key, of[key]])) as Pick<T, K>;
}
