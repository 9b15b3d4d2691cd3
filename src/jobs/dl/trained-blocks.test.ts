import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { type ArrayRef, writeNpy } from "../../engine/npy.ts";
import type { TrainNetworkTask, TrainResult, TrainStackTask } from "../../engine/pool/network-protocol.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { FitTimings } from "../shared/timings.ts";
import type { PlannedNetwork, TrainedTicker } from "./planned-network.ts";
import type { TrainOptions } from "./train-networks.ts";
import { trainNetworks } from "./train-networks.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-blocks-"));
after(() => rmSync(folder, { recursive: true }));

/** The block whose rows a task learns from, and the block whose rows it forecasts. */
interface FakeTask extends TrainNetworkTask {
  readonly learned: number;
  readonly scored: number;
}

/** A fake pool: a network forecasts the block that it learned from. It fails by ticker and block. */
class FakePool {
  readonly started: FakeTask[] = [];
  readonly stacks: number[] = [];
  readonly #errors: Readonly<Record<string, MucastError>>;

  constructor(errors: Readonly<Record<string, MucastError>> = {}) {
    this.#errors = errors;
  }

  async run(
    task: FakeTask | TrainStackTask,
  ): Promise<TrainResult | { readonly results: readonly unknown[] }> {
    await new Promise(setImmediate);
    if (task.task !== "train_stack") return this.#train(task);
    this.stacks.push(task.networks.length);
    return { results: task.networks.map((own) => this.#stacked(own as FakeTask)) };
  }

  #stacked(task: FakeTask): unknown {
    try {
      return this.#train(task);
    } catch (error) {
      if (!(error instanceof MucastError)) throw error;
      const { code, message, data } = error;
      return { code, message, data };
    }
  }

  #train(task: FakeTask): TrainResult {
    this.started.push(task);
    const { ticker, learned, member } = task;
    const error = this.#errors[`${ticker} ${learned}`] ?? this.#errors[`${ticker} ${learned} ${member}`];
    if (error !== undefined) throw error;
    const write = (ref: string, values: number[]): ArrayRef =>
      writeNpy(ref, Float64Array.from(values), [values.length]);
    return {
      predictions: write(task.predictions.ref, [learned, learned + 0.5]),
      epochs: [{ train_loss: 2, validation_loss: 3 }],
      best_epoch: 1,
      zero_validation_loss: 4,
      parameters: 2,
      seconds: 1,
    };
  }
}

let files = 0;

/** Plans the network of one ticker for a block of two score rows. */
function network(name: string, learned: number, scored = learned, joint = false): PlannedNetwork {
  return {
    ...{ name, joint, block: scored, isStandIn: learned !== scored, tickers: [name], size: 1, dates: [] },
    ...{ isFirst: scored === 0, begins: new Set(scored === 0 ? [name] : []) },
    excluded: () => [],
    standIn: (block) => network(name, learned, block, joint),
    task: async () => {
      const predictions = { ref: join(folder, `${files++}.npy`) };
      const task = { ticker: name, label: name, member: 0, predictions, learned, scored };
      return { task: task as unknown as TrainNetworkTask, files: [] };
    },
    latest: () => [1],
    forecasts(predicted) {
      const days = Int32Array.of(10 * scored, 10 * scored + 1);
      const rows = { days, labelDays: days, labels: predicted, volatility: predicted, predicted };
      const model = { block: scored, from: 0, to: 2, fitRows: 7, labelMean: learned };
      return [
        {
          ticker: name,
          score: rows,
          models: [{ ...model, isStandIn: learned !== scored }],
          predictions: predicted,
          predictionUnit: 1,
          ...{ validation: {}, warnings: [] },
        } as unknown as TrainedTicker,
      ];
    },
  };
}

/** As the first network of these tickers reports them. */
function begins(tickers: readonly string[], isFirst: boolean) {
  return { isFirst, begins: new Set(isFirst ? tickers : []) };
}

const blocksOf = (name: string, count: number, joint = false) =>
  Array.from({ length: count }, (_, block) => network(name, block, block, joint));

function train(pool: FakePool, networks: readonly PlannedNetwork[], own: Partial<TrainOptions> = {}) {
  return trainNetworks(networks, {
    ...{ pool: pool as unknown as EnginePool, device: "cpu", slots: 2, threads: 1, gpus: 1, epochs: 4 },
    ...{ ensemble: 1, signal: new AbortController().signal, report: () => undefined },
    timings: new FitTimings({}),
    ...own,
  });
}

const diverged = new MucastError("diverged", "the training loss exploded", { epoch: 2 });

for (const device of ["cpu", "cuda:0"]) {
  test(`on ${device} the previous network stands in for one that diverges, and for two in a row`, async () => {
    const pool = new FakePool({ "A 2": diverged, "A 3": diverged });
    const { trained, failures } = await train(pool, [...blocksOf("A", 5), ...blocksOf("B", 5)], { device });
    assert.deepEqual(failures, []);
    const [a, b] = trained as [TrainedTicker, TrainedTicker];
    assert.deepEqual([...a.score.predicted], [0, 0.5, 1, 1.5, 1, 1.5, 1, 1.5, 4, 4.5]);
    assert.deepEqual([...b.score.predicted], [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5]);
    assert.deepEqual([...a.score.days], [0, 1, 10, 11, 20, 21, 30, 31, 40, 41]);
    assert.deepEqual(
      a.models.map(({ block, from, to, labelMean, isStandIn }) => [block, from, to, labelMean, isStandIn]),
      [
        [0, 0, 2, 0, false],
        [1, 2, 4, 1, false],
        [2, 4, 6, 1, true],
        [3, 6, 8, 1, true],
        [4, 8, 10, 4, false],
      ],
    );
    const [warning, ...others] = a.warnings;
    assert.deepEqual([warning!.code, warning!.ticker, warning!.count, others], ["failed_refit", "A", 2, []]);
    assert.match(
      warning!.message,
      /^A: 2 refits failed, and models of earlier blocks forecast 4 rows\. .*exploded$/,
    );
    assert.deepEqual(b.warnings, []);
  });
}

test("networks of all blocks are in the stacks of a GPU", async () => {
  const pool = new FakePool();
  await train(pool, [...blocksOf("A", 3), ...blocksOf("B", 3)], { device: "cuda:0", ensemble: 2 });
  assert.deepEqual(pool.stacks, [12]);
  assert.deepEqual(
    pool.started.slice(0, 4).map(({ learned }) => learned),
    [0, 0, 0, 0],
  );
});

for (const [what, error] of [
  ["memory", new MucastError("fit_failed", "the memory of cpu does not suffice")],
  ["a worker that dies", new MucastError("engine_crashed", "the worker died")],
  ["forecasts that are not finite", new MucastError("diverged", "some forecasts are not finite")],
] as const) {
  test(`${what} in a later block fails the ticker, or the job of a joint network`, async () => {
    const errors = { "A 1": error };
    const { trained, failures } = await train(new FakePool(errors), [
      ...blocksOf("A", 3),
      ...blocksOf("B", 3),
    ]);
    assert.deepEqual(
      trained.map(({ ticker }) => ticker),
      ["B"],
    );
    assert.deepEqual(failures, [{ ticker: "A", code: error.code, message: error.message }]);
    await assert.rejects(train(new FakePool(errors), blocksOf("A", 3, true)), { code: error.code });
  });
}

test("a joint network that diverges in a later block is reported for all tickers", async () => {
  const pool = new FakePool({ "A 1": diverged });
  const { trained, warnings, blockRows } = await train(pool, blocksOf("A", 3, true));
  assert.deepEqual([...trained[0]!.score.predicted], [0, 0.5, 0, 0.5, 2, 2.5]);
  assert.deepEqual(
    warnings.map(({ ticker, count }) => [ticker, count]),
    [[undefined, 1]],
  );
  assert.deepEqual([trained[0]!.warnings, blockRows], [[], [7, 7, 7]]);
});

for (const device of ["cpu", "cuda:0"]) {
  test(`on ${device} after a first block that fails, no further block of the ticker is started`, async () => {
    const pool = new FakePool({ "A 0": diverged });
    const events: number[] = [];
    const blocks = 100;
    const { failures, trained } = await train(pool, [...blocksOf("A", blocks), ...blocksOf("B", blocks)], {
      device,
      report: (event) => events.push(event.kind === "progress" ? event.done : Number.NaN),
    });
    assert.deepEqual(failures, [{ ticker: "A", code: "diverged", message: failures[0]!.message }]);
    // Those that have started, or are in the stack of the first, continue.
    assert.ok(pool.started.filter(({ ticker }) => ticker === "A").length <= 64);
    assert.equal(pool.started.filter(({ ticker }) => ticker === "B").length, blocks);
    assert.equal(trained[0]!.models.length, blocks);
    assert.equal(events.at(-1), 2 * blocks * 4);
  });
}

test("a ticker that joins later starts with its own network", async () => {
  const late = [1, 2].map((block) => ({ ...network("L", block), ...begins(["L"], block === 1) }));
  const { trained, training } = await train(new FakePool(), [...blocksOf("A", 3), ...late]);
  assert.deepEqual([...training.keys()], ["A", "L"]);
  const [, l] = trained as [TrainedTicker, TrainedTicker];
  assert.deepEqual(
    [l.models.map(({ block }) => block), [...l.score.predicted]],
    [
      [1, 2],
      [1, 1.5, 2, 2.5],
    ],
  );
  const failing = new FakePool({ "L 1": diverged });
  const { failures } = await train(failing, [...blocksOf("A", 3), ...late]);
  assert.deepEqual(
    failures.map(({ ticker, code }) => [ticker, code]),
    [["L", "diverged"]],
  );
});

test("a ticker fails if its first joint network does, and the others go on", async () => {
  const [first, second, third] = blocksOf("A", 3, true) as [PlannedNetwork, PlannedNetwork, PlannedNetwork];
  const joining = { ...second, begins: new Set(["L"]), tickers: ["A", "L"] };
  const { trained, failures } = await train(new FakePool({ "A 1": diverged }), [first, joining, third]);
  assert.deepEqual(failures, [{ ticker: "L", code: "diverged", message: diverged.message }]);
  assert.deepEqual([...trained[0]!.score.predicted], [0, 0.5, 0, 0.5, 2, 2.5]);
});
