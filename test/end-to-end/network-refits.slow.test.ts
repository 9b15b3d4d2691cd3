/** `refit_every`, `window` and `refit_start` of run_dl_job: what networks of later blocks may not see, what they are, and what stands in for them. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { auditContext, auditInputs } from "../../src/audit/checked.testing.ts";
import { runAudit } from "../../src/audit/run-audit.ts";
import { truncation } from "../../src/audit/truncation/truncation.ts";
import type { Architecture } from "../../src/contract/config/networks.ts";
import { MucastError } from "../../src/contract/errors/errors.ts";
import type { OutputBlob } from "../../src/contract/output/output-blob.ts";
import { JOBS } from "../../src/jobs/run-job.ts";
import { validateJob } from "../../src/jobs/validate-job.ts";
import { openDocument } from "../../src/outputs/open-document.ts";
import { replayOutput } from "../../src/replay/replay.ts";
import { checkedEvidence } from "../../src/report/evidence/check-metrics.ts";
import { WHOLE_MATRIX } from "../whole-matrix.testing.ts";
import { removeFolders, withoutIdentity, writeMarket } from "./job-runs.ts";
import { changedAfter, pricesChangedAfter } from "./later-changes.ts";
import type { Cell, Market } from "./market.ts";
import { JOINT, networkConfig, PER_TICKER, runNetworkJob, type Sections } from "./network-jobs.ts";
import { dirtyPanelMarket, lateListings, learningUntil, panelMarket } from "./panel-market.ts";
import { assertValid } from "./published-schemas.ts";
import { openSharedEngine } from "./shared-engines.ts";

after(removeFolders);

/** All cases in the release tier, and in `npm test` those of the networks that train in the least time, one per ticker and one joint. */
function sampled<T extends readonly [Architecture, ...unknown[]]>(cases: readonly T[]): readonly T[] {
  return WHOLE_MATRIX ? cases : cases.filter(([option]) => option === "mlp" || option === "portfolio_lstm");
}

/** 60 dates to forecast. */
const MARKET = learningUntil("2021-06-04", panelMarket());
const DIRTY = learningUntil("2021-05-15", lateListings(dirtyPanelMarket()));
/**
 * At the cut KO has 30 fit rows and too few windows, XOM has fewer rows, and 10 is not listed. Networks of one ticker have enough windows of
 * the three at the second block, the second and the third; joint ones, which validate on the last dates of all, at the second, the third and none.
 */
const LISTINGS = listedFrom({ KO: 70, XOM: 85, 10: 105 }, MARKET);

/** @param first by ticker, the number of its first price date. */
function listedFrom(first: Readonly<Record<string, number>>, market: Market): Market {
  const prices = [...market.prices].map(
    ([ticker, cells]) => [ticker, cells.map((cell, i) => (i < (first[ticker] ?? 0) ? null : cell))] as const,
  );
  return { ...market, prices: new Map(prices) };
}

const MARKETS = [["dirty", DIRTY] as const, ...(WHOLE_MATRIX ? [["clean", MARKET] as const] : [])];

function config(option: Architecture, settings: object, sections: Sections = {}): string {
  const asked = JSON.parse(networkConfig(option, sections));
  Object.assign(asked["NN params"]["Dot prediction"], settings);
  return JSON.stringify(asked);
}

async function jobOn(market: Market, text: string, workers = 1): Promise<OutputBlob> {
  const { output } = await runNetworkJob(await writeMarket(market), text, workers);
  assertValid("output-blob", output);
  return output;
}

const RELATIVE = { target: "relative", cross_section: true };

/** Forecasts of the dates from `start` on and before `end`, by ticker. */
function between(start: string, end: string | undefined, { forecasts }: OutputBlob) {
  return Object.entries(forecasts).map(([ticker, { dates, predicted }]) => [
    ticker,
    dates.flatMap((date, i) =>
      date >= start && (end === undefined || date < end) ? [[date, predicted[i]!]] : [],
    ),
  ]);
}

/** Of the tickers that have any. */
function someBetween(...args: Parameters<typeof between>) {
  return between(...args).filter(([, rows]) => rows!.length > 0);
}

/** By ticker, the block that it joins. */
function joinsOf({ refits }: OutputBlob) {
  const { blocks, by_ticker } = refits!;
  return Object.fromEntries(
    Object.entries(by_ticker).flatMap(([ticker, { joins }]) =>
      joins === undefined ? [] : [[ticker, blocks.findIndex(({ start }) => start === joins)]],
    ),
  );
}

const EVERY = 25;

const SETTINGS: readonly (readonly [Architecture, object, Sections])[] = [
  ...[...PER_TICKER, ...JOINT].map((option) => [option, {}, {}] as const),
  ["mlp", RELATIVE, { intervals: {}, training: { ensemble: 2 } }],
  ["portfolio_lstm", RELATIVE, { intervals: {}, training: { ensemble: 2 } }],
  ["portfolio_transformer", {}, { training: { loss_type: "mahalanobis", monitor: "ic" } }],
  ["lstm", {}, { training: { loss_type: "directional" }, data: { scaler: "minmax" } }],
];

/** Compares each block with a job that learns until its first date. */
async function compareBlocks(
  market: Market,
  [option, settings, sections]: (typeof SETTINGS)[number],
): Promise<OutputBlob> {
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
    // What is told of a ticker is told of its first network.
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

describe("the networks of a block are those of a job that learns until its first date", () => {
  for (const setting of sampled(SETTINGS)) {
    test(JSON.stringify(setting), async () => {
      const { fits, refits } = await compareBlocks(MARKET, setting);
      assert.equal(Object.keys(fits!).length, 7);
      assert.ok(Object.values(refits!.by_ticker).every(({ joins }) => joins === undefined));
    });
  }
});

describe("so they are where tickers list late, each from the block on that gives it enough", () => {
  const joining = (option: Architecture) =>
    JOINT.some((one) => one === option) ? { KO: 1, XOM: 2 } : { 10: 2, KO: 1, XOM: 1 };

  for (const setting of sampled<(typeof SETTINGS)[number]>([
    ...[...PER_TICKER, ...JOINT].map((option) => [option, {}, {}] as const),
    ["mlp", { window: 50 }, { training: { ensemble: 2 } }],
    ["portfolio_lstm", {}, { training: { ensemble: 2, monitor: "loss" }, data: { scaler: "minmax" } }],
  ])) {
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

  for (const option of ["mlp", "portfolio_lstm"] as const) {
    test(`a warm start changes no block that a ticker joins, and begins a network of ${option} alone anew`, async () => {
      const settings = { refit_every: EVERY };
      const [cold, warm] = await Promise.all(
        ["cold", "warm"].map((refit_start) => jobOn(LISTINGS, config(option, { ...settings, refit_start }))),
      );
      assert.deepEqual(joinsOf(warm!), joinsOf(cold!));
      const { blocks } = warm!.refits!;
      for (const [ticker, block] of Object.entries(joinsOf(warm!))) {
        const own = (blob: OutputBlob) =>
          between(blocks[block]!.start, blocks[block + 1]?.start, blob).find(([name]) => name === ticker);
        if (option === "mlp") assert.deepEqual(own(warm!), own(cold!));
        else assert.notDeepEqual(own(warm!), own(cold!));
      }
    });
  }

  test("without intervals and factors of the dates before", async () => {
    const text = config("mlp", { refit_every: 10, shrinkage: "own" }, { intervals: { alpha: 0.3 } });
    const { forecasts, refits, warnings } = await jobOn(LISTINGS, text);
    const { joins, factors } = refits!.by_ticker.XOM!;
    assert.equal(forecasts.XOM!.dates[0], joins);
    assert.ok(
      forecasts.XOM!.upper.every((end) => end === null) && forecasts.MSFT!.upper.some((end) => end !== null),
    );
    const own = factors!.filter((factor) => factor !== null);
    assert.equal(own[0], 0);
    assert.ok(!warnings.some(({ code, ticker }) => code === "interval_unsupported" && ticker === "XOM"));
  });
});

/** Dates, forecasts and ends up to `last`, and what is told of the blocks that begin by then. */
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

describe("what is dated later changes nothing before it", () => {
  for (const [option, settings, sections] of sampled([
    ["mlp", { refit_every: 15, shrinkage: "pooled" }, { intervals: {} }],
    ["lstm", { refit_every: 15, window: 50, ...RELATIVE, refit_start: "warm" }, {}],
    [
      "portfolio_lstm",
      { refit_every: 15, window: 60, ...RELATIVE, shrinkage: "own" },
      { intervals: { alpha: 0.3 } },
    ],
    ["portfolio_transformer", { refit_every: 15, window: 60, refit_start: "warm" }, {}],
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

  test("prices after the first date of a block move none of its forecasts, and those of networks that train on them", async () => {
    for (const option of ["cnn", "portfolio_lstm"] as const) {
      const text = config(option, { refit_every: 15 });
      const whole = await jobOn(MARKET, text);
      const { blocks } = whole.refits!;
      const [start, next, last] = [1, 2, -1].map((b) => blocks.at(b)!.start) as [string, string, string];
      const changed = await jobOn(pricesChangedAfter(start, MARKET), text);
      assert.deepEqual(between("", next, changed), between("", next, whole));
      for (const [i, [ticker, rows]] of between(last, undefined, whole).entries()) {
        assert.notDeepEqual(between(last, undefined, changed)[i]![1], rows, `${option} ${String(ticker)}`);
      }
    }
  });
});

test("one block leaves the forecasts of a job without refits, and says so", async () => {
  const blobs = await writeMarket(DIRTY);
  for (const [option, settings, sections] of [
    ["mlp", { shrinkage: "own" }, { intervals: {}, training: { ensemble: 2 } }],
    ["portfolio_lstm", RELATIVE, { intervals: {} }],
  ] as const) {
    const without = await runNetworkJob(blobs, config(option, settings, sections));
    const one = await runNetworkJob(blobs, config(option, { ...settings, refit_every: 1000 }, sections));
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

test("any number of workers leaves the same bytes", async () => {
  const blobs = await writeMarket(DIRTY);
  for (const [option, settings] of sampled([
    ["mlp", { refit_every: EVERY, shrinkage: "pooled" }],
    ["lstm", { refit_every: EVERY, refit_start: "warm" }],
    ["portfolio_lstm", { refit_every: EVERY, ...RELATIVE }],
    ["portfolio_transformer", { refit_every: EVERY, refit_start: "warm" }],
  ] as const)) {
    const text = config(option, settings, { training: { ensemble: 2 }, intervals: {} });
    // The engine with three workers is there for other files too.
    const [one, ...more] = await Promise.all(
      (WHOLE_MATRIX ? [1, 2, 3, 4] : [1, 3]).map((workers) => runNetworkJob(blobs, text, workers)),
    );
    for (const { text } of more) assert.equal(withoutIdentity(text), withoutIdentity(one!.text), option);
  }
});

describe("a warm start", () => {
  for (const [option] of sampled([...PER_TICKER, ...JOINT].map((option) => [option] as const))) {
    test(`of ${option} is told, and moves the forecasts of later blocks alone`, async () => {
      const settings = { refit_every: EVERY };
      const sections = { training: { ensemble: 2 } };
      const cold = await jobOn(MARKET, config(option, settings, sections));
      const warm = await jobOn(MARKET, config(option, { ...settings, refit_start: "warm" }, sections));
      assert.deepEqual([cold.model.refit_start, warm.model.refit_start], [undefined, "warm"]);
      const second = warm.refits!.blocks[1]!.start;
      assert.deepEqual(between("", second, warm), between("", second, cold));
      for (const [i, [ticker, rows]] of between(second, undefined, cold).entries()) {
        assert.notDeepEqual(between(second, undefined, warm)[i]![1], rows, String(ticker));
      }
      assert.deepEqual(warm.training, cold.training);
    });
  }
});

/** From the cut on, the prices of a ticker stay for 50 dates. */
function flat(tickers: readonly string[]): Market {
  const from = MARKET.priceDates.indexOf("2021-06-04") - 20;
  const still = (cells: readonly Cell[]) =>
    cells.map((cell, i) => (i > from && i <= from + 60 ? cells[from]! : cell));
  const prices = [...MARKET.prices].map(
    ([ticker, cells]) => [ticker, tickers.includes(ticker) ? still(cells) : cells] as const,
  );
  return { ...MARKET, prices: new Map(prices) };
}

describe("where a block leaves nothing to learn, the network of the block before forecasts it", () => {
  const asked = { refit_every: 6, window: 42 };

  for (const refit_start of ["cold", "warm"] as const) {
    const one = refit_start === "warm" ? (["mlp"] as const) : (["portfolio_lstm"] as const);
    for (const option of WHOLE_MATRIX ? (["mlp", "portfolio_lstm"] as const) : one) {
      test(`for one ticker, with ${option} and a ${refit_start} start`, async () => {
        const market = flat(["KO"]);
        const output = await jobOn(market, config(option, { ...asked, refit_start }));
        const { blocks, by_ticker } = output.refits!;
        const failed = blocks.flatMap(({ stand_ins }, b) => (stand_ins > 0 ? [b] : []));
        assert.ok(failed.length > 0 && failed.length < blocks.length - 1, String(failed));
        for (const b of failed) {
          assert.equal(blocks[b]!.stand_ins, 1);
          assert.equal(by_ticker.KO!.label_means[b], by_ticker.KO!.label_means[failed[0]! - 1]);
        }
        const told = output.warnings.filter(({ code }) => code === "failed_refit");
        assert.deepEqual(
          told.map(({ ticker, count }) => [ticker, count]),
          [["KO", failed.length]],
        );
        assert.match(told[0]!.message, /training labels are equal/);
        assert.equal(output.forecasts.KO!.dates.length, output.forecasts.MSFT!.dates.length);
        assert.deepEqual(output.failures, []);
      });

      test(`for all tickers, with ${option} and a ${refit_start} start`, async () => {
        const names = [...MARKET.prices.keys()];
        const output = await jobOn(flat(names), config(option, { ...asked, refit_start }));
        const told = output.warnings.filter(({ code }) => code === "failed_refit");
        const isJoint = option === "portfolio_lstm";
        assert.deepEqual(
          told.map(({ ticker }) => ticker),
          isJoint ? [undefined] : [...names].sort(),
        );
        const stood = output.refits!.blocks.map(({ stand_ins }) => stand_ins);
        assert.deepEqual([...new Set(stood)].sort(), [0, names.length]);
        assert.equal(told[0]!.count, stood.filter((count) => count > 0).length);
      });
    }
  }

  test("its forecasts are those of a longer block", async () => {
    const market = flat(["KO"]);
    for (const option of ["mlp", "portfolio_lstm"] as const) {
      const output = await jobOn(market, config(option, asked));
      const { blocks } = output.refits!;
      const first = blocks.findIndex(({ stand_ins }) => stand_ins > 0);
      // In blocks of so many dates the second begins where the last block before that one does.
      const longer = await jobOn(market, config(option, { ...asked, refit_every: 6 * (first - 1) }));
      assert.equal(longer.refits!.blocks[1]!.start, blocks[first - 1]!.start);
      const end = longer.refits!.blocks[2]?.start;
      const dates = [blocks[first]!.start, blocks[first + 1]!.start];
      assert.ok(end === undefined || end >= dates[1]!);
      const own = (blob: OutputBlob) =>
        between(dates[0]!, dates[1], blob).filter(([ticker]) => ticker === "KO");
      const [[, rows]] = own(output) as [[string, [string, number][]]];
      const [[, expected]] = own(longer) as [[string, [string, number][]]];
      for (const [i, [date, value]] of rows.entries()) {
        assert.equal(date, expected[i]![0]);
        // Their places among those that are predicted at once differ.
        assert.ok(Math.abs(value - expected[i]![1]) < 1e-9, `${option} on ${date}`);
      }
    }
  });
});

test("a preview has the networks, blocks and warnings of the job", async () => {
  const blobs = await writeMarket(DIRTY);
  for (const [option, settings, ensemble] of [
    ["mlp", { refit_every: 9 }, 2],
    ["portfolio_lstm", { ...RELATIVE, refit_every: 9 }, 1],
    ["portfolio_lstm", { window: 50 }, 1],
  ] as const) {
    const text = config(option, settings, { training: { ensemble, epochs: 3 } });
    const request = {
      featureUrl: blobs.features,
      dataExtractorUrl: blobs.prices,
      config: text,
      id: "preview",
    };
    const preview = await validateJob(request, auditContext());
    const { output, events } = await runNetworkJob(blobs, text);
    const last = events.findLast((event) => event.kind === "progress" && event.stage === "fit");
    assert.equal(preview.refits!.blocks, output.refits!.blocks.length);
    assert.ok(last?.kind === "progress");
    assert.deepEqual([last.done, last.total], [3 * preview.refits!.fits, 3 * preview.refits!.fits]);
    assert.ok(preview.refits!.fit_bytes! > 0);
    const late = ({ code }: { readonly code: string }) => code === "late_ticker";
    assert.deepEqual(preview.warnings.filter(late), output.warnings.filter(late));
    assert.deepEqual(
      preview.tickers.map(({ ticker, fit_rows }) => [ticker, fit_rows]),
      Object.entries(output.fits!).map(([ticker, { fit_rows }]) => [ticker, fit_rows]),
    );
    assert.deepEqual(
      preview.failures.map(({ ticker, code }) => [ticker, code]),
      output.failures.map(({ ticker, code }) => [ticker, code]),
    );
  }
});

test("the metrics of the output are those of its forecasts", async () => {
  for (const option of ["mlp", "portfolio_lstm"] as const) {
    const text = config(option, { refit_every: 8, shrinkage: "pooled" }, { intervals: {} });
    const { url } = await runNetworkJob(await writeMarket(DIRTY), text);
    const document = await openDocument(url, { policy: { allowed: [] }, blobUrl: undefined });
    const evidence = checkedEvidence(document);
    assert.ok(evidence.meanTable !== undefined);
    const means = new Set(evidence.rows.flatMap(({ trainingMean }) => [...trainingMean]));
    assert.ok(means.size > evidence.rows.length);
  }
});

for (const [option, settings, market] of [
  ["mlp", { refit_every: 15, intervals: {} }, LISTINGS],
  ["portfolio_lstm", { ...RELATIVE, refit_every: 15, window: 60, refit_start: "warm" }, DIRTY],
] as const) {
  test(`the audit's truncations of ${option} ${JSON.stringify(settings)} are clean, and a replay is identical`, async () => {
    const { features, prices } = await writeMarket(market);
    const text = config(option, settings);
    const request = { featureUrl: features, dataExtractorUrl: prices, config: text, id: "audit" };
    const context = auditContext({ openEngine: openSharedEngine });
    const inputs = auditInputs({ request, operation: "run_dl_job" });
    const { checks } = await runAudit(inputs, context, { checks: [truncation] });
    assert.equal(checks.truncation!.status, "clean");
    const record = await JOBS.run_dl_job(request, context);
    const { verdict } = await replayOutput(
      { id: "replay", outputUrl: fileURLToPath(record.output_url) },
      context,
    );
    assert.equal(verdict, "identical");
  });
}

for (const [key, value] of [
  ["refit_every", 0],
  ["refit_every", 1.5],
  ["refit_every", 10_001],
  ["window", 41],
  ["window", 100_001],
  ["refit_start", "hot"],
  ["refit_start", "warm"],
] as const) {
  test(`${key} ${value} is refused with its path`, async () => {
    await assert.rejects(jobOn(MARKET, config("mlp", { [key]: value })), (error) => {
      assert.ok(error instanceof MucastError);
      assert.equal(error.code, "invalid_request");
      assert.match(error.message, new RegExp(`Dot prediction.*${key}`));
      return true;
    });
  });
}
