/**
 * The numbers of small jobs, as recorded: a change of the code that should change none is compared with them. A change that should is recorded
 * with `RECORD_NUMBERS=1`, and the changelog says why.
 *
 * Linear models, forests and boosted trees give the same numbers on every processor to 1e-9. Networks do not: their kernels depend on the
 * processor. Their rows are compared, which this test needs no training for.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { validateJob } from "../../../src/jobs/validate-job.ts";
import { dirtyPanelMarket, lateListings, panelMarket } from "../markets/panel-market.ts";
import { networkConfig } from "../networks/network-jobs.ts";
import { removeFolders, runJob, writeMarket } from "./job-runs.ts";

after(removeFolders);

const MARKETS = { clean: panelMarket(), late: lateListings(dirtyPanelMarket()) };
const RIDGE = { model: "ridge", scaler: "standard" };
const POOLED = { ...RIDGE, fit: "pooled" };
const RELATIVE = { target: "relative", cross_section: true, shrinkage: "pooled" };
const ADAPTIVE = { intervals: { method: "adaptive", alpha: 0.2 } };
const FOREST = { model: "random_forest", model_params: { n_estimators: 5, random_state: 1 } };
const CANDIDATES = [{ model_params: { alpha: 5 } }, { model_params: { alpha: 50 } }];

const JOBS: readonly (readonly [name: string, market: keyof typeof MARKETS, params: object])[] = [
  ["linear", "clean", { model: "linear" }],
  ["lasso", "clean", { model: "lasso", model_params: { alpha: 1e-4 }, scaler: "standard" }],
  ["forest", "clean", { ...FOREST, intervals: { method: "split", alpha: 0.1 } }],
  ["forest pooled", "late", { ...FOREST, fit: "pooled" }],
  ["lightgbm pooled", "clean", { model: "lightgbm", model_params: { n_estimators: 5 }, fit: "pooled" }],
  ["ridge", "late", { ...RIDGE, ...ADAPTIVE, shrinkage: "own" }],
  ["ridge refits", "late", { ...RIDGE, ...ADAPTIVE, refit_every: 20, window: 60 }],
  ["ridge pooled", "late", { ...POOLED, ...ADAPTIVE }],
  [
    "ridge pooled relative refits",
    "late",
    { ...POOLED, ...RELATIVE, ...ADAPTIVE, refit_every: 20, delay: 1 },
  ],
  ["ridge relative", "late", { ...RIDGE, ...RELATIVE }],
  ["ridge importance", "clean", { ...POOLED, importance: true }],
  ["choice", "late", { ...RIDGE, refit_every: 20, choice: { rule: "mean", candidates: CANDIDATES } }],
  [
    "choice pooled by ic",
    "clean",
    { ...POOLED, choice: { rule: "best", measure: "ic", candidates: CANDIDATES } },
  ],
];

/** What of an output summarizes every step: rows, fits, forecasts, choice, evaluation. */
function numbersOf({ mu, metrics, verdict, refits, choice, warnings, failures, ...output }: OutputBlob) {
  const { score, out_of_fold, shrinkage, intervals } = metrics;
  const sum = (values: readonly (number | null)[]) =>
    values.reduce<number>((all, one) => all + (one ?? 0), 0);
  return {
    mu,
    rows: Object.values(output.fits ?? {}).map(({ fit_rows }) => fit_rows),
    score: [score.pooled, score.cross_section, out_of_fold?.pooled, out_of_fold?.cross_section],
    verdict: [verdict?.state, verdict?.rows],
    shrinkage: shrinkage?.by_date,
    intervals: intervals?.pooled,
    bounds: sum(Object.values(output.forecasts).flatMap(({ lower, upper }) => [...lower, ...upper])),
    refits: refits?.blocks,
    importance: output.permutation_importance?.groups.map(({ loss }) => loss),
    choice: choice && [choice.members, choice.honest, choice.optimism],
    warnings: warnings.map(({ code, count }) => [code, count]),
    failures: failures.map(({ ticker, code }) => [ticker, code]),
  };
}

const PATH = "test/cases/recorded-numbers.jsonl";
const recorded = new Map<string, unknown>(
  readFileSync(PATH, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line)),
);
const found = new Map<string, unknown>();

/** @param place of the values, for messages. */
function assertNear(actual: unknown, expected: unknown, place: string): void {
  if (typeof actual === "number" && typeof expected === "number") {
    const isNear = Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected));
    assert.ok(isNear, `${place}: ${actual}, recorded ${expected}`);
  } else if (typeof actual === "object" && typeof expected === "object" && actual && expected) {
    assert.deepEqual(Object.keys(actual), Object.keys(expected), place);
    for (const [key, value] of Object.entries(expected))
      assertNear((actual as Record<string, unknown>)[key], value, `${place}.${key}`);
  } else assert.deepEqual(actual, expected, place);
}

function compare(name: string, numbers: unknown): void {
  found.set(name, JSON.parse(JSON.stringify(numbers)));
  if (process.env.RECORD_NUMBERS === undefined) assertNear(found.get(name), recorded.get(name), name);
}

for (const [name, market, params] of JOBS) {
  test(name, async () => {
    const config = JSON.stringify({ "ML params": { cv_test_size: 10, n_splits: 3, ...params } });
    compare(name, numbersOf((await runJob(await writeMarket(MARKETS[market]), config)).output));
  });
}

for (const option of ["lstm", "portfolio_lstm"] as const) {
  test(`the rows of ${option}`, async () => {
    const { features: featureUrl, prices: dataExtractorUrl } = await writeMarket(MARKETS.late);
    const asked = JSON.parse(networkConfig(option, { intervals: {} }));
    Object.assign(asked["NN params"]["Dot prediction"], { refit_every: 20, target: "relative" });
    const request = { featureUrl, dataExtractorUrl, config: JSON.stringify(asked), id: "rows" };
    const { signal } = new AbortController();
    const context = { workers: 1, policy: { allowed: [] }, report: () => undefined, signal };
    const { tickers, failures, refits } = await validateJob(request, context);
    compare(option, { tickers, failures, refits });
  });
}

after(() => {
  if (process.env.RECORD_NUMBERS === undefined) return;
  writeFileSync(PATH, [...found].map((entry) => `${JSON.stringify(entry)}\n`).join(""));
});
