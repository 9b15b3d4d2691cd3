import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import type { PlannedFit, PlannedRefit } from "./plan-fits.ts";
import { failedRefitWarnings, runRefits } from "./run-refits.ts";

const FIRST: PlannedRefit = { block: 0, train: [0, 10], predict: [50, 52] };

/** Block b learns from 10 + b rows and predicts row 50 + 2 b and the next. */
function refit(block: number): PlannedRefit {
  return { block, train: [0, 10 + block], predict: [50 + 2 * block, 52 + 2 * block] };
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

  run = async (fits: readonly PlannedFit[]) => {
    this.asked.push(fits.map(({ train, predict }) => `${train[1]}:${predict.join("-")}`).join(" "));
    const predicted: number[] = [];
    for (const { train, predict } of fits) {
      if (this.#untrained.includes(train[1])) throw new MucastError("fit_failed", `training ${train[1]}`);
      for (let row = predict[0]; row < predict[1]; row++) {
        if (this.#unpredicted.includes(row)) throw new MucastError("fit_failed", `predicting ${row}`);
        predicted.push(train[1] + row / 1000);
      }
    }
    const values = Float64Array.from(predicted);
    const predictions = { ref: "none", shape: [values.length], dtype: "<f8", order: "C" } as const;
    return { result: { predictions, seconds: [], unconverged_fits: 0, diagnoses: [] }, predicted: values };
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

test("a fit that cannot be trained is replaced by the last one before it that could, however fits are divided into tasks", async () => {
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
    const [warning] = failedRefitWarnings(done, "KO");
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
