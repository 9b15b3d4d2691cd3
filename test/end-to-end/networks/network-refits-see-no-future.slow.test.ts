/** The data that networks of later blocks must not see. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { removeFolders } from "../jobs/job-runs.ts";
import { changedAfter } from "../markets/later-changes.ts";
import { config, DIRTY, jobOn, joinsOf, MARKET, RELATIVE, sampled } from "./refitted-networks.ts";

after(removeFolders);

const MARKETS = [["dirty", DIRTY] as const, ...(WHOLE_MATRIX ? [["clean", MARKET] as const] : [])];

/** Dates, forecasts and ends up to `last`, and what is reported about the blocks that start by then. */
function knownAt(last: string, { forecasts, fits, refits, training }: OutputBlob) {
  const begun = refits!.blocks.filter(({ start }) => start <= last).length;
  const hasJoined = ([ticker]: [string, unknown]) => {
    const { joins } = refits!.by_ticker[ticker] ?? {};
    return joins === undefined || joins <= last;
  };
  return {
    training: Object.entries(training!).filter(hasJoined),
    splits: Object.entries(fits!)
      .filter(hasJoined)
      .map(([ticker, { fit_rows, label_mean, splits }]) => [ticker, fit_rows, label_mean, splits]),
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

describe("later data change nothing earlier", () => {
  for (const [option, settings, sections] of sampled([
    ["mlp", { refit_every: 15, shrinkage: "pooled" }, { intervals: {} }],
    ["lstm", { refit_every: 15, window: 50, ...RELATIVE }, {}],
    [
      "portfolio_lstm",
      { refit_every: 15, window: 60, ...RELATIVE, shrinkage: "own" },
      { intervals: { alpha: 0.3 } },
    ],
    ["portfolio_transformer", { refit_every: 15, window: 60 }, {}],
    ...(WHOLE_MATRIX ? [1, 2, 4] : [2]).flatMap(
      (delay) =>
        [
          ["mlp", { delay, refit_every: 15, shrinkage: "pooled" }, { intervals: {} }],
          ["portfolio_lstm", { delay, refit_every: 15, window: 60, ...RELATIVE }, { intervals: {} }],
        ] as const,
    ),
  ] as const)) {
    for (const [name, market] of MARKETS) {
      test(`${option} ${JSON.stringify(settings)} on ${name} blobs`, async () => {
        const text = config(option, settings, sections);
        const whole = await jobOn(market, text);
        const { blocks } = whole.refits!;
        const joined = Object.values(joinsOf(whole));
        assert.equal(joined.length > 0, market === DIRTY, String(joined));
        const days = market.priceDates;
        // On the first date of a block, and inside one.
        for (const last of [blocks[2]!.start, days[days.indexOf(blocks[3]!.start) + 2]!]) {
          const changed = await jobOn(changedAfter(last, market), text);
          assert.deepEqual(knownAt(last, changed), knownAt(last, whole));
          assert.notDeepEqual(changed.forecasts, whole.forecasts);
        }
      });
    }
  }
});
