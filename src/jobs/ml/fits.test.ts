import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import type { FitPredictResult } from "../../engine/pool/protocol.ts";
import { type BlockFit, fitWarnings, importancesOf, type RunTask, runFits, runRefits } from "./fits.ts";

const RESULT = { unconverged_fits: 0 } as FitPredictResult;

const FIRST: BlockFit = { block: 0, train: [0, 10], predict: [50, 52], diagnose: true };

/** Block b learns from 10 + b rows and predicts row 50 + 2 b and the next. */
function refit(block: number): BlockFit {
  return { block, train: [0, 10 + block], predict: [50 + 2 * block, 52 + 2 * block], diagnose: true };
}

/** A fake engine: predicts training rows + predicted row / 1000. Some fits cannot be trained, and some rows cannot be predicted. */
class FakeEngine {
  readonly asked: string[] = [];
  readonly #untrained: readonly number[];
  readonly #unpredicted: readonly number[];

  constructor(untrained: readonly number[], unpredicted: readonly number[] = []) {
    this.#untrained = untrained;
    this.#unpredicted = unpredicted;
  }

  run: RunTask = async (fits) => {
    this.asked.push(fits.map(({ train, predict }) => `${train[1]}:${predict.join("-")}`).join(" "));
    return fits.map(({ train, predict: [from, to] }) => {
      if (this.#untrained.includes(train[1])) throw new MucastError("fit_failed", `training ${train[1]}`);
      const rows = Array.from({ length: to - from }, (_, i) => from + i);
      const row = rows.find((one) => this.#unpredicted.includes(one));
      if (row !== undefined) throw new MucastError("fit_failed", `predicting ${row}`);
      const predicted = Float64Array.from(rows, (one) => train[1] + one / 1000);
      return { predicted, permuted: [], diagnosis: undefined, result: RESULT };
    });
  };
}

const REFITS = [1, 2, 3, 4, 5].map(refit);

function values(done: Awaited<ReturnType<typeof runRefits>>) {
  return done.map(({ block, model, train, predicted, error }) => [
    block,
    model,
    train[1],
    [...predicted],
    error?.message,
  ]);
}

test("each block has the predictions of its own fit, however fits are divided into tasks", async () => {
  const expected = [1, 2, 3, 4, 5].map((b) => [
    b,
    b,
    10 + b,
    [10 + b + (50 + 2 * b) / 1000, 10 + b + (51 + 2 * b) / 1000],
    undefined,
  ]);
  for (const tasks of [[REFITS], REFITS.map((fit) => [fit]), [REFITS.slice(0, 2), REFITS.slice(2)]]) {
    assert.deepEqual(values(await runRefits(FIRST, tasks, new FakeEngine([]).run)), expected);
  }
});

test("the last good model forecasts the rows of a refit that cannot be trained, however fits are divided into tasks", async () => {
  const expected = [
    [1, 0, 10, [10.052, 10.053], "training 11"],
    [2, 2, 12, [12.054, 12.055], undefined],
    [3, 2, 12, [12.056, 12.057], "training 13"],
    [4, 2, 12, [12.058, 12.059], "training 14"],
    [5, 5, 15, [15.06, 15.061], undefined],
  ];
  for (const tasks of [[REFITS], REFITS.map((fit) => [fit]), [REFITS.slice(0, 3), REFITS.slice(3)]]) {
    const done = await runRefits(FIRST, tasks, new FakeEngine([11, 13, 14]).run);
    assert.deepEqual(values(done), expected);
    const [warning] = fitWarnings({ folds: [], blocks: done }, "KO", "KO");
    assert.deepEqual([warning!.ticker, warning!.count], ["KO", 3]);
    assert.match(warning!.message, /3 refits failed.*6 rows.*training 11/);
  }
});

test("a row that cannot be predicted is an error, even with a replacement model", async () => {
  const fails = (untrained: number[], row: number) =>
    assert.rejects(runRefits(FIRST, [REFITS], new FakeEngine(untrained, [row]).run), {
      code: "fit_failed",
      message: `predicting ${row}`,
    });
  await fails([], 57);
  await fails([13], 57);
});

test("an error of the engine does not count as a failed fit", async () => {
  const engine = new FakeEngine([13]);
  const run: typeof engine.run = async (fits) => {
    if (fits[0]!.train[1] === 14) throw new MucastError("engine_crashed", "gone");
    return engine.run(fits);
  };
  const tasks = REFITS.map((fit) => [fit]);
  await assert.rejects(runRefits(FIRST, tasks, run), { code: "engine_crashed" });
});

/** Runs folds that predict rows from 10, 20 and 30, and two blocks. Fold 20 fails; fold 10 fails after all others; the rest wait to be ended. */
function runWithError(error: Error) {
  const ended: number[] = [];
  const others = Promise.withResolvers<void>();
  const run: RunTask = async ([fit], stop) => {
    const [from] = fit!.predict;
    if (from === 20) throw error;
    await (from === 10 ? Promise.race([others.promise, once(stop!, "abort")]) : once(stop!, "abort"));
    if (!stop!.aborted) throw new MucastError("fit_failed", "the first");
    ended.push(from);
    if (ended.length === 3) others.resolve();
    throw stop!.reason;
  };
  const folds = [10, 20, 30].map((from) => ({ train: [0, from], predict: [from, from + 10] }) as const);
  const result = runFits({ folds, blocks: [FIRST, refit(1)] }, { size: 1, stopsEarly: true }, run);
  return { ended, result };
}

test("an error of a task ends the tasks after it, and the first error in time order is the result", async () => {
  const { ended, result } = runWithError(new MucastError("fit_failed", "the second"));
  assert.equal(((await result) as MucastError).message, "the first");
  assert.deepEqual(ended.sort(), [30, 50, 52]);
});

test("an error of the job ends all tasks", async () => {
  const { ended, result } = runWithError(new MucastError("output_failed", "disk full"));
  await assert.rejects(result, { message: "disk full" });
  assert.deepEqual(ended.sort(), [10, 30, 50, 52]);
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
