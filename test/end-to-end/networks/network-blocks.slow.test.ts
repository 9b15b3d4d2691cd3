/** The networks of each block of `refit_every`, compared with a job that learns until the first date of the block. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Architecture } from "../../../src/contract/config/networks.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { removeFolders } from "../jobs/job-runs.ts";
import type { Market } from "../markets/market.ts";
import { learningUntil } from "../markets/panel-market.ts";
import { JOINT, PER_TICKER, type Sections } from "./network-jobs.ts";
import { between, config, EVERY, jobOn, joinsOf, LISTINGS, MARKET, RELATIVE } from "./refitted-networks.ts";

after(removeFolders);

/** Only for tickers that have any. */
function someBetween(...args: Parameters<typeof between>) {
  return between(...args).filter(([, rows]) => rows!.length > 0);
}

type Setting = readonly [Architecture, object, Sections];

const DEFAULTS: readonly Setting[] = [...PER_TICKER, ...JOINT].map((option) => [option, {}, {}]);

const RELATIVE_ENSEMBLES: readonly Setting[] = (["mlp", "portfolio_lstm"] as const).map((option) => [
  option,
  RELATIVE,
  { intervals: {}, training: { ensemble: 2 } },
]);

/** In `npm test`, one of the networks that train in the least time. */
const SETTINGS: readonly Setting[] = WHOLE_MATRIX
  ? [
      ...DEFAULTS,
      ...RELATIVE_ENSEMBLES,
      ["portfolio_transformer", {}, { training: { loss_type: "mahalanobis", monitor: "ic" } }],
      ["lstm", {}, { training: { loss_type: "directional" }, data: { scaler: "minmax" } }],
    ]
  : RELATIVE_ENSEMBLES.slice(0, 1);

const MLP_IN_WINDOW: Setting = ["mlp", { window: 50 }, { training: { ensemble: 2 } }];

const LATE_SETTINGS: readonly Setting[] = WHOLE_MATRIX
  ? [
      ...DEFAULTS,
      MLP_IN_WINDOW,
      ["portfolio_lstm", {}, { training: { ensemble: 2, monitor: "loss" }, data: { scaler: "minmax" } }],
    ]
  : [["portfolio_lstm", {}, {}]];

/** Compares each block with a job that learns until its first date. */
async function compareBlocks(market: Market, [option, settings, sections]: Setting): Promise<OutputBlob> {
  const refitted = await jobOn(market, config(option, { ...settings, refit_every: EVERY }, sections));
  const { blocks, by_ticker } = refitted.refits!;
  assert.equal(blocks.length, 3);
  for (const [b, { start, fit_rows, stand_ins, tickers }] of blocks.entries()) {
    const cut = b === 0 ? market.bounds.Learning_end! : start;
    const alone = await jobOn(learningUntil(cut, market), config(option, settings, sections));
    const next = blocks[b + 1]?.start;
    assert.deepEqual(someBetween(start, next, refitted), someBetween(start, next, alone));
    const fits = Object.entries(alone.fits!);
    assert.deepEqual([stand_ins, tickers], [0, fits.length]);
    const inWindow = alone.refits;
    const learned = fits.reduce((sum, [, fit]) => sum + fit.fit_rows, 0);
    assert.equal(fit_rows, inWindow === undefined ? learned : inWindow.blocks[0]!.fit_rows);
    for (const [ticker, { label_mean }] of fits) {
      const expected = inWindow === undefined ? label_mean : inWindow.by_ticker[ticker]!.label_means[0];
      assert.equal(by_ticker[ticker]!.label_means[b], expected);
    }
    if (next === undefined) {
      assert.deepEqual([refitted.mu, refitted.mu_spread], [alone.mu, alone.mu_spread]);
    }
    const [trained, expected] = [refitted.refits!.training!, alone.training!];
    for (const [name, { epochs, best_epoch, zero_validation_loss, members = [] }] of Object.entries(
      expected,
    )) {
      const all = [{ epochs, best_epoch, zero_validation_loss: zero_validation_loss! }, ...members];
      const meanOf = (value: (member: (typeof all)[number]) => number) =>
        all.reduce((sum, member) => sum + value(member), 0) / all.length;
      const { validation_ics, ...own } = trained[name]!;
      assert.equal(
        validation_ics !== undefined,
        sections.training !== undefined &&
          "monitor" in sections.training &&
          sections.training.monitor === "ic",
      );
      assert.deepEqual(
        Object.values(own).map((values) => values[b]),
        [
          meanOf((member) => member.epochs.length),
          meanOf((member) => member.best_epoch),
          meanOf((member) => member.epochs[member.best_epoch - 1]!.validation_loss),
          meanOf((member) => member.zero_validation_loss),
        ],
      );
    }
    // What is reported about a ticker comes from its first network.
    for (const [ticker, fit] of fits) {
      const { joins } = by_ticker[ticker]!;
      if (joins === undefined ? b > 0 : joins !== start) continue;
      assert.deepEqual(refitted.fits![ticker], fit);
      const name = ticker in alone.training! ? ticker : "portfolio";
      if (name === ticker || b === 0) assert.deepEqual(refitted.training![name], alone.training![name]);
    }
  }
  return refitted;
}

describe("the networks of a block equal those of a job that learns until its first date", () => {
  for (const setting of SETTINGS) {
    test(JSON.stringify(setting), async () => {
      const { fits, refits } = await compareBlocks(MARKET, setting);
      assert.equal(Object.keys(fits!).length, 7);
      assert.ok(Object.values(refits!.by_ticker).every(({ joins }) => joins === undefined));
    });
  }
});

describe("they also do if tickers list late, each from the block on that gives it enough rows", () => {
  const joining = (option: Architecture) =>
    JOINT.some((one) => one === option) ? { KO: 1, XOM: 2 } : { 10: 2, KO: 1, XOM: 1 };

  for (const setting of LATE_SETTINGS) {
    test(JSON.stringify(setting), async () => {
      const output = await compareBlocks(LISTINGS, setting);
      const expected = joining(setting[0]);
      assert.deepEqual(joinsOf(output), expected);
      const told = output.warnings.filter(({ code }) => code === "late_ticker");
      assert.deepEqual(
        told.map(({ count }) => count),
        [Object.keys(expected).length],
      );
      assert.deepEqual(
        output.failures.map(({ ticker, code }) => [ticker, code]),
        "10" in expected ? [] : [["10", "insufficient_history"]],
      );
    });
  }
});
