/** What the fits of `refit_every` may not see, what they leave unchanged, and what happens when they fail. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { auditContext } from "../../../src/audit/checked.testing.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { validateJob } from "../../../src/jobs/validate-job.ts";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { changedAfter, pricesChangedAfter } from "../markets/later-changes.ts";
import type { Cell, Market } from "../markets/market.ts";
import { dirtyPanelMarket, lateListings, learningUntil, panelMarket } from "../markets/panel-market.ts";

after(removeFolders);

/** 60 dates to forecast. */
const MARKET = learningUntil("2021-06-04", panelMarket());
const DIRTY = learningUntil("2021-05-15", lateListings(dirtyPanelMarket()));
const RELATIVE = { fit: "pooled", target: "relative", cross_section: true };

function config(settings: object, params: object = { model: "ridge", scaler: "standard" }): string {
  return JSON.stringify({ "ML params": { ...params, cv_test_size: 10, n_splits: 3, ...settings } });
}

async function jobOn(market: Market, text: string): Promise<OutputBlob> {
  return (await runJob(await writeMarket(market), text)).output;
}

/** Dates, forecasts and ends up to `last`, and the training means of blocks that begin by then. */
function knownAt(last: string, { forecasts, cross_validation, refits }: OutputBlob) {
  const begun = refits!.blocks.filter(({ start }) => start <= last).length;
  const hasJoined = ([ticker]: [string, unknown]) => {
    const { joins } = refits!.by_ticker[ticker]!;
    return joins === undefined || joins <= last;
  };
  return {
    cross_validation: Object.entries(cross_validation!).filter(hasJoined),
    forecasts: Object.entries(forecasts)
      .filter(hasJoined)
      .map(([ticker, { dates, predicted, lower, upper }]) => {
        const rows = dates.filter((date) => date <= last).length;
        return [ticker, ...[dates, predicted, lower, upper].map((values) => values.slice(0, rows))];
      }),
    fits: refits!.blocks.slice(0, begun).map(({ start, fit_rows }) => [start, fit_rows]),
    means: Object.entries(refits!.by_ticker)
      .filter(hasJoined)
      .map(([, own]) => [
        own.joins,
        ...[own.label_means, own.factors].map((values) => values?.slice(0, begun)),
      ]),
  };
}

const SETTINGS = [
  { refit_every: 8, intervals: {}, shrinkage: "pooled" },
  { refit_every: 8, window: 45, fit: "pooled", intervals: {}, shrinkage: "own" },
  { ...RELATIVE, refit_every: 8, intervals: { alpha: 0.3 }, shrinkage: "empirical_bayes" },
  { refit_every: 5, target: "relative", window: 60 },
];

/** In the release tier all settings with all delays. */
const LATER = WHOLE_MATRIX
  ? [0, 1, 2, 3, 4, 5].flatMap((delay) => SETTINGS.map((settings) => ({ delay, ...settings })))
  : [...SETTINGS.slice(1, 3), { delay: 2, ...SETTINGS[2]! }];

const MARKETS = [["dirty", DIRTY] as const, ...(WHOLE_MATRIX ? [["clean", MARKET] as const] : [])];

describe("later data change nothing earlier", () => {
  for (const settings of LATER) {
    for (const [name, market] of MARKETS) {
      test(`${JSON.stringify(settings)} on ${name} blobs`, async () => {
        const whole = await jobOn(market, config(settings));
        const { blocks } = whole.refits!;
        // On the first date of a block, inside one, and on the date before the next.
        const days = market.priceDates;
        const dayBefore = days[days.indexOf(blocks[4]!.start) - 1]!;
        for (const last of [blocks[2]!.start, days[days.indexOf(blocks[3]!.start) + 2]!, dayBefore]) {
          const changed = await jobOn(changedAfter(last, market), config(settings));
          assert.deepEqual(knownAt(last, changed), knownAt(last, whole));
          assert.notDeepEqual(changed.forecasts, whole.forecasts);
        }
      });
    }
  }
});

test("prices after the first date of a block change none of its forecasts, but those of the next block", async () => {
  const asked = config({ refit_every: 8, fit: "pooled", shrinkage: "pooled" });
  const whole = await jobOn(MARKET, asked);
  const [start, next] = [whole.refits!.blocks[3]!.start, whole.refits!.blocks[4]!.start];
  const changed = await jobOn(pricesChangedAfter(start, MARKET), asked);
  for (const [ticker, { dates, predicted }] of Object.entries(whole.forecasts)) {
    const other = changed.forecasts[ticker]!.predicted;
    for (const [i, date] of dates.entries()) {
      if (date < next) assert.equal(other[i], predicted[i], `${ticker} on ${date}`);
      else assert.notEqual(other[i], predicted[i], `${ticker} on ${date}`);
    }
  }
});

test("a single block gives the forecasts of a job without refits, and a warning", async () => {
  const blobs = await writeMarket(DIRTY);
  for (const settings of [
    { intervals: {}, shrinkage: "own" },
    { ...RELATIVE, intervals: {} },
  ]) {
    const without = await runJob(blobs, config(settings));
    const one = await runJob(blobs, config({ ...settings, refit_every: 1000 }));
    const { refits, model, warnings, provenance: _, id: __, created_at: ___, ...rest } = one.output;
    assert.equal(refits!.blocks.length, 1);
    assert.equal(model.refit_every, 1000);
    assert.deepEqual(
      warnings.filter(({ code }) => code !== "no_refit"),
      without.output.warnings,
    );
    assert.equal(warnings.length, without.output.warnings.length + 1);
    for (const [key, value] of Object.entries(rest)) {
      assert.deepEqual(value, without.output[key as keyof OutputBlob], key);
    }
  }
});

describe("failures", () => {
  /** From about the cut on, the features of a ticker are constant for two months; catboost does not learn from such. */
  function flat(market: Market, tickers: readonly string[]): Market {
    const from = market.featureDates.indexOf("2021-06-04");
    const still = (cells: readonly Cell[]) =>
      cells.map((cell, i) => (i > from - 3 && i <= from + 40 ? 1 : cell));
    const features = [...market.features].map(([ticker, columns]) => {
      const changed = new Map([...columns].map(([name, cells]) => [name, still(cells)] as const));
      return [ticker, tickers.includes(ticker) ? changed : columns] as const;
    });
    return { ...market, features: new Map(features) };
  }

  const CATBOOST = { model: "catboost", model_params: { iterations: 3, depth: 2 } };

  test("of a refit keep the previous model in its place", async () => {
    const asked = { refit_every: 5, window: 30 };
    const output = await jobOn(flat(MARKET, ["KO"]), config(asked, CATBOOST));
    const { blocks, by_ticker } = output.refits!;
    const failed = blocks.flatMap(({ stand_ins }, b) => (stand_ins === 1 ? [b] : []));
    assert.deepEqual(failed, [6, 7, 8]);
    const means = by_ticker.KO!.label_means;
    for (const b of failed) assert.equal(means[b], means[5]);
    assert.notEqual(means[9], means[5]);
    const [warning, ...others] = output.warnings.filter(({ code }) => code === "failed_refit");
    assert.deepEqual([warning!.ticker, warning!.count, others.length], ["KO", 3, 0]);
    assert.match(
      warning!.message,
      /^KO: 3 refits failed, and models of earlier blocks forecast 15 rows\..*constant/,
    );
    // With blocks of 25 dates, the second one starts on the same date as block 5 here, so it has the same model.
    const stood = await jobOn(flat(MARKET, ["KO"]), config({ ...asked, refit_every: 25 }, CATBOOST));
    const [from, to] = [30, 45];
    assert.deepEqual(
      output.forecasts.KO!.predicted.slice(from, to),
      stood.forecasts.KO!.predicted.slice(from, to),
    );
  });

  test("of a pooled refit keep the previous model in its place for all tickers", async () => {
    const market = flat(MARKET, [...MARKET.prices.keys()]);
    const output = await jobOn(market, config({ refit_every: 5, window: 30, fit: "pooled" }, CATBOOST));
    assert.deepEqual(
      output.refits!.blocks.map(({ stand_ins }) => stand_ins),
      [0, 0, 0, 0, 0, 0, 7, 7, 7, 0, 0, 0, 0],
    );
    const warning = output.warnings.find(({ code }) => code === "failed_refit")!;
    assert.deepEqual([warning.ticker, warning.count], [undefined, 3]);
  });
});

test("a preview shows the fits, blocks and warnings of the job", async () => {
  const blobs = await writeMarket(DIRTY);
  for (const settings of [{ refit_every: 9 }, { ...RELATIVE, refit_every: 9 }, { window: 40 }]) {
    const text = config(settings);
    const request = {
      featureUrl: blobs.features,
      dataExtractorUrl: blobs.prices,
      config: text,
      id: "preview",
    };
    const preview = await validateJob(request, auditContext());
    const { output, events } = await runJob(blobs, text);
    const totals = events.flatMap((event) =>
      event.kind === "progress" && event.stage === "fit" ? [event] : [],
    );
    assert.equal(preview.refits!.blocks, output.refits!.blocks.length);
    assert.equal(preview.refits!.fits, totals.at(-1)!.total);
    assert.equal(preview.refits!.fits, totals.at(-1)!.done);
  }
});
