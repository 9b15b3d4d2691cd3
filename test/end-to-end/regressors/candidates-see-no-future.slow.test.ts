/** With `choice`, prices after a date change no out-of-fold forecast that was made by then. Compared as bytes, in whole jobs. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { type BlobPair, removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { pricesChangedAfter } from "../markets/later-changes.ts";
import { dirtyPanelMarket, lateListings, learningUntil } from "../markets/panel-market.ts";

const MARKET = learningUntil("2021-06-04", lateListings(dirtyPanelMarket()));

const SHARED = { model: "ridge", scaler: "standard", cv_test_size: 6, n_splits: 6 };
const ALPHAS = { model: "ridge", grid: { alpha: [1, 1_000] } };
const LASSO = { model: "lasso", model_params: { alpha: 0.001 } };

/** Inside folds of every ticker, after enough label dates for other members than candidate 0. */
const LAST_DATES = ["2021-04-30", "2021-05-21"];

const blobs = new Map<string, BlobPair>();

before(async () => {
  blobs.set("", await writeMarket(MARKET));
  for (const last of LAST_DATES) blobs.set(last, await writeMarket(pricesChangedAfter(last, MARKET)));
});
after(removeFolders);

/**
 * Out-of-fold forecasts by ticker and date.
 * @param isKept by the first date of a row's fold and the row's own date.
 */
function outOfFold(
  { cross_validation = {} }: OutputBlob,
  isKept: (first: string, date: string) => boolean,
): string[] {
  return Object.entries(cross_validation).flatMap(([ticker, { folds, dates, predicted }]) =>
    dates.flatMap((date, i) => {
      const { test_start: first } = folds.findLast(({ test_start: start }) => start <= date)!;
      return isKept(first, date) ? [`${ticker} ${first} ${date} ${predicted[i]}`] : [];
    }),
  );
}

/** Members and losses by all label dates up to `last`. */
function chosenUpTo(last: string, { choice }: OutputBlob) {
  const { changes, losses } = choice!;
  const known = losses.dates.filter((date) => date <= last);
  return {
    changes: changes.filter(({ date }) => date <= last),
    dates: known,
    excess: losses.excess.map((own) => own.slice(0, known.length)),
  };
}

const CASES = [
  {
    name: "one regressor for all tickers",
    params: { fit: "pooled" },
    candidates: [ALPHAS, LASSO],
    hasOneBegin: true,
  },
  {
    name: "trades two closes later",
    params: { fit: "pooled", delay: 2 },
    candidates: [ALPHAS, LASSO],
    hasOneBegin: true,
  },
  { name: "one regressor per ticker", params: {}, candidates: [ALPHAS, LASSO], hasOneBegin: true },
  {
    name: "both, with relative targets",
    params: { refit_every: 20 },
    candidates: [{ fit: "pooled" }, { ...ALPHAS, target: "relative" }, LASSO],
    hasOneBegin: false,
  },
];

describe("prices after a date change no out-of-fold forecast that was made by then", () => {
  for (const { name, params, candidates, hasOneBegin } of WHOLE_MATRIX ? CASES : CASES.slice(0, 2)) {
    test(name, async () => {
      const config = JSON.stringify({
        "ML params": { ...SHARED, ...params, choice: { candidates, warm_up: 6 } },
      });
      const { output: whole } = await runJob(blobs.get("")!, config);
      for (const last of LAST_DATES) {
        const { output: changed } = await runJob(blobs.get(last)!, config);
        // Folds of pooled candidates begin inside those of the ticker, and widths of relative forecasts follow the row's date.
        const isMade = (first: string, date: string) => (hasOneBegin ? first : date) <= last;
        const made = outOfFold(whole, isMade);
        assert.deepEqual(outOfFold(changed, isMade), made, last);
        assert.deepEqual(chosenUpTo(last, changed), chosenUpTo(last, whole), last);
        assert.ok(made.length > 0);
        const isLater = (first: string, date: string) => !isMade(first, date);
        assert.notDeepEqual(outOfFold(changed, isLater), outOfFold(whole, isLater), "later ones change");
      }
      const { changes } = chosenUpTo(LAST_DATES[0]!, whole);
      assert.ok(changes.length > 1, "members changed by then");
    });
  }
});
