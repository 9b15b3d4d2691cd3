import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import type { FitPredictResult } from "../../engine/pool/protocol.ts";
import { type BlockFit, fitWarnings, importancesOf, type RunTask, runFits } from "./fits.ts";

const RESULT = { unconverged_fits: 0 } as FitPredictResult;

const FIRST: BlockFit = { block: 0, train: [0, 10], predict: [50, 52], diagnose: true };

/** Block b learns from 10 + b rows and predicts row 50 + 2 b and the next. */
function refit(block: number): BlockFit {
  return { block, train: [0, 10 + block], predict: [50 + 2 * block, 52 + 2 * block], diagnose: true };
}

/** A fake engine: predicts training rows + predicted row / 1000. Fits on some numbers of rows fail. */
function fakeEngine(failing: Readonly<Record<number, MucastError["code"]>>): RunTask {
  return async (fits) =>
    fits.map(({ train, predict: [from, to] }) => {
      const code = failing[train[1]];
      if (code !== undefined) throw new MucastError(code, `training ${train[1]}`);
      const rows = Array.from({ length: to - from }, (_, i) => train[1] + (from + i) / 1000);
      return { predicted: Float64Array.from(rows), permuted: [], diagnosis: undefined, result: RESULT };
    });
}

const FOLDS = [4, 6, 8].map((rows) => ({ train: [0, rows], predict: [rows, rows + 2] }) as const);
const FITS = { folds: FOLDS, blocks: [FIRST, ...[1, 2, 3, 4, 5].map(refit)] } as const;
const { signal } = new AbortController();

for (const size of [1, 2, 9]) {
  test(`in tasks of ${size}, the last good model forecasts the rows of a refit that fails`, async () => {
    const failing = { 11: "fit_failed", 13: "fit_failed", 14: "fit_failed" } as const;
    const results = await runFits(FITS, size, signal, fakeEngine(failing));
    assert.ok(!(results instanceof MucastError));
    assert.deepEqual(
      results.blocks.map(({ block, model, train, predicted, error }) => [
        ...[block, model, train[1], [...predicted], error?.message],
      ]),
      [
        [0, 0, 10, [10.05, 10.051], undefined],
        [1, 0, 10, [10.052, 10.053], "training 11"],
        [2, 2, 12, [12.054, 12.055], undefined],
        [3, 2, 12, [12.056, 12.057], "training 13"],
        [4, 2, 12, [12.058, 12.059], "training 14"],
        [5, 5, 15, [15.06, 15.061], undefined],
      ],
    );
    assert.deepEqual(
      results.folds.map(({ predicted }) => predicted[0]),
      [4.004, 6.006, 8.008],
    );
    const [warning] = fitWarnings(results, "KO", "KO");
    assert.deepEqual([warning!.ticker, warning!.count], ["KO", 3]);
    assert.match(warning!.message, /3 refits failed.*6 rows.*training 11/);
  });
}

test("the first error in time order of any other fit is the result, and one of the engine ends all", async () => {
  const failing = { 6: "fit_failed", 8: "engine_crashed", 14: "engine_crashed" } as const;
  const error = await runFits(FITS, 1, signal, fakeEngine(failing));
  assert.equal((error as MucastError).message, "training 6");
  const crashed = await runFits(FITS, 1, signal, fakeEngine({ 14: "engine_crashed" }));
  assert.equal((crashed as MucastError).code, "engine_crashed");
  // It trains, but its rows cannot be predicted.
  const unpredicted: RunTask = async (fits, ...more) => {
    const done = await fakeEngine({})(fits, ...more);
    if (fits.some(({ predict: [from, to] }) => from <= 57 && 57 < to))
      throw new MucastError("fit_failed", "predicting 57");
    return done;
  };
  assert.equal(((await runFits(FITS, 1, signal, unpredicted)) as MucastError).message, "predicting 57");
  // Nor is it known whether it trains, if the engine dies over this.
  const dying: RunTask = async (fits, ...more) => {
    if (fits.some(({ predict: [from, to] }) => from === 56 && to === 56))
      throw new MucastError("engine_crashed", "again");
    return fakeEngine({ 13: "fit_failed" })(fits, ...more);
  };
  assert.equal(((await runFits(FITS, 1, signal, dying)) as MucastError).message, "again");
  const full = runFits(FITS, 1, signal, fakeEngine({ 6: "fit_failed", 15: "output_failed" }));
  await assert.rejects(full, { code: "output_failed" });
});

/** Blocks whose fits list these importances; `undefined` for a library that has none. */
function blocks(...all: (readonly (readonly [number, number])[] | undefined)[]) {
  return all.map((importances) => ({ diagnosis: importances && { importances } }));
}

test("the last fit's importances have deviations over all fits, if all of them list the feature", () => {
  const names = ["a", "b", "c"];
  const fits = blocks(
    [
      [0, 1],
      [1, 4],
    ],
    [
      [1, 6],
      [0, 3],
    ],
    [
      [0, 5],
      [2, 2],
      [1, 5],
    ],
  );
  const { importances, lastImportances } = importancesOf(fits, names);
  assert.deepEqual(importances, [
    { feature: "a", importance: 1 },
    { feature: "b", importance: 4 },
  ]);
  assert.deepEqual(
    lastImportances!.map(({ feature, importance, spread }) => [feature, importance, spread?.toFixed(12)]),
    [
      ["a", 5, "2.000000000000"],
      ["c", 2, undefined],
      ["b", 5, "1.000000000000"],
    ],
  );
  assert.deepEqual(importancesOf(blocks(undefined), names), {});
});
