import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { writeNpy } from "../../engine/npy.ts";
import type {
  TrainNetworkTask,
  TrainResult,
  TrainStackResult,
  TrainStackTask,
} from "../../engine/pool/network-protocol.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { FitTimings } from "../shared/timings.ts";
import type { PlannedNetwork, TrainedTicker } from "./planned-network.ts";
import { trainNetworks } from "./train-networks.ts";
import { MAX_STACK_SIZE } from "./train-stacks.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-train-"));
after(() => rmSync(folder, { recursive: true }));

type Answer = (Partial<TrainResult> & { readonly told?: readonly [number, number] }) | MucastError;

/** A pool that is a fake: it answers by the label of a task, one event loop turn later, and counts what runs. */
class FakePool {
  readonly started: string[] = [];
  /** How many networks each stack had. */
  readonly stacks: number[] = [];
  mostAtOnce = 0;
  #running = 0;
  readonly #answers: Readonly<Record<string, Answer>>;
  readonly #together: number;
  readonly #areTogether = Promise.withResolvers<void>();

  /** @param together no task is answered before so many run at the same time. */
  constructor(answers: Readonly<Record<string, Answer>> = {}, together = 1) {
    this.#answers = answers;
    this.#together = together;
  }

  async run(task: TrainNetworkTask | TrainStackTask): Promise<TrainResult | TrainStackResult> {
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#running);
    if (this.#running >= this.#together) this.#areTogether.resolve();
    await this.#areTogether.promise;
    await new Promise(setImmediate);
    this.#running--;
    if (task.task !== "train_stack") return this.#answer(task);
    this.stacks.push(task.networks.length);
    return { results: task.networks.map((network) => this.#inStack(network)) };
  }

  /** The engine ends one network of a stack by some errors, and the whole task by others. */
  #inStack(network: TrainNetworkTask): TrainStackResult["results"][number] {
    try {
      return this.#answer(network);
    } catch (error) {
      if (!(error instanceof MucastError && error.code === "diverged")) throw error;
      return { code: error.code, message: error.message, data: {} };
    }
  }

  #answer({ label }: TrainNetworkTask): TrainResult {
    this.started.push(label!);
    const answer = this.#answers[label!];
    if (answer instanceof MucastError) throw answer;
    const { told = [1, 1], ...changed } = answer ?? {};
    const predictions = writeNpy(
      join(mkdtempSync(join(folder, "task-")), "p.npy"),
      Float64Array.from(told),
      [2],
    );
    const record = {
      epochs: [{ train_loss: 2, validation_loss: 3 }],
      best_epoch: 1,
      zero_validation_loss: 4,
      parameters: 5,
    };
    return { ...record, predictions, seconds: 9, ...changed };
  }
}

function network(name: string, size = 1, joint = false): PlannedNetwork {
  return {
    name,
    joint,
    block: 0,
    isStandIn: false,
    isFirst: true,
    begins: new Set([name]),
    tickers: [name],
    size,
    dates: [],
    excluded: () => [],
    standIn: () => assert.fail("no refits"),
    task: async () => {
      const predictions = { ref: join(folder, `${name}.npy`) };
      return { task: { ticker: name, label: name, member: 0, predictions } as TrainNetworkTask, files: [] };
    },
    latest: () => [1],
    *forecasts(predicted) {
      yield 0;
      return [
        {
          ticker: name,
          warnings: [],
          predictions: predicted,
          predictionUnit: 1,
          score: { predicted },
          validation: {},
          models: [{ block: 0 }],
        } as unknown as TrainedTicker,
      ];
    },
  };
}

function train(
  pool: FakePool,
  networks: readonly PlannedNetwork[],
  device = "cpu",
  gpus = 1,
  ensemble = 1,
  cores = { slots: 2, threads: 1 },
) {
  return trainNetworks(networks, {
    pool: pool as unknown as EnginePool,
    device,
    ...cores,
    gpus,
    epochs: 4,
    ensemble,
    refitStart: "cold",
    signal: new AbortController().signal,
    report: () => undefined,
    timings: new FitTimings({}),
  });
}

test("the largest networks start first, and the outcome ascends by code point", async () => {
  const pool = new FakePool({}, 3);
  const { trained, training } = await train(pool, [network("b", 2), network("B", 1), network("10", 3)]);
  assert.deepEqual(pool.started, ["10", "b", "B"]);
  assert.equal(pool.mostAtOnce, 3);
  assert.deepEqual(
    trained.map(({ ticker }) => ticker),
    ["10", "B", "b"],
  );
  assert.deepEqual([...training.keys()], ["10", "B", "b"]);
  assert.deepEqual(training.get("b"), {
    epochs: [{ train_loss: 2, validation_loss: 3 }],
    best_epoch: 1,
    zero_validation_loss: 4,
    parameters: 5,
  });
});

test("on a GPU networks are trained in stacks, the largest first and one stack at a time", async () => {
  const pool = new FakePool();
  const names = Array.from({ length: 2 * MAX_STACK_SIZE + 1 }, (_, index) => `T${index}`);
  const networks = names.map((name, index) => network(name, index));
  const { trained } = await train(pool, networks, "cuda:0");
  assert.deepEqual(pool.stacks, [MAX_STACK_SIZE, MAX_STACK_SIZE, 1]);
  assert.deepEqual(pool.started, names.toReversed());
  assert.deepEqual([pool.mostAtOnce, trained.length], [1, names.length]);
});

test("on the GPUs of a cluster as many stacks are trained at a time, each of its share", async () => {
  const pool = new FakePool();
  const names = Array.from({ length: MAX_STACK_SIZE + 1 }, (_, index) => `T${index}`);
  const networks = names.map((name, index) => network(name, index));
  const { trained } = await train(pool, networks, "cuda:0", 3);
  assert.deepEqual(pool.stacks.toSorted(), [21, 22, 22]);
  assert.deepEqual([pool.mostAtOnce, trained.length], [3, names.length]);
});

test("a stack that costs its worker costs all of its tickers, and no other", async () => {
  const pool = new FakePool({ T0: new MucastError("engine_crashed", "the worker died") });
  const names = Array.from({ length: MAX_STACK_SIZE + 9 }, (_, index) => `T${index}`);
  const { trained, failures } = await train(
    pool,
    names.map((name, index) => network(name, index)),
    "cuda:0",
  );
  assert.deepEqual([trained.length, failures.length], [MAX_STACK_SIZE, 9]);
  assert.deepEqual(failures[0], { ticker: "T0", code: "engine_crashed", message: "T0: the worker died" });
});

test("a joint network is trained outside a stack", async () => {
  const pool = new FakePool();
  await train(pool, [network("portfolio", 1, true)], "cuda:0");
  assert.deepEqual([pool.stacks, pool.started], [[], ["portfolio"]]);
});

for (const code of ["diverged", "constant_target", "fit_failed", "engine_crashed"] as const) {
  test(`${code} costs its ticker alone`, async () => {
    const pool = new FakePool({ B: new MucastError(code, "B: why") });
    const { trained, failures } = await train(pool, [network("A"), network("B")]);
    assert.equal(trained.length, 1);
    assert.deepEqual(failures, [{ ticker: "B", code, message: "B: why" }]);
  });
}

test("an error that is not about one ticker ends the job", async () => {
  const pool = new FakePool({ B: new MucastError("output_failed", "disk full") });
  await assert.rejects(train(pool, [network("A"), network("B")]), { code: "output_failed" });
});

test("a joint network that diverges ends the job", async () => {
  const pool = new FakePool({ portfolio: new MucastError("diverged", "why") });
  await assert.rejects(train(pool, [network("portfolio", 1, true)]), { code: "diverged" });
});

test("a ticker that is called portfolio fails like any other", async () => {
  const pool = new FakePool({ portfolio: new MucastError("diverged", "why") });
  const { failures } = await train(pool, [network("portfolio"), network("A")]);
  assert.deepEqual(
    failures.map(({ ticker }) => ticker),
    ["portfolio"],
  );
});

test("predictions that are all the same are warned about", async () => {
  const { trained } = await train(new FakePool({ A: { prediction_scale: 0 } }), [network("A")]);
  assert.deepEqual(
    trained[0]!.warnings.map(({ code, ticker }) => [code, ticker]),
    [["constant_predictions", "A"]],
  );
});

const TWO_EPOCHS = [
  { train_loss: 2, validation_loss: 3 },
  { train_loss: 1, validation_loss: 2 },
];

const ENSEMBLE = {
  "A member 0": { told: [0.1, 1] },
  "A member 1": { told: [0.2, 2], best_epoch: 2, epochs: TWO_EPOCHS },
  "A member 2": { told: [0.7, 6] },
} as const;

for (const device of ["cpu", "cuda:0"]) {
  test(`on ${device} the forecast of an ensemble is the mean of its members, and member 0 has the record`, async () => {
    const pool = new FakePool(ENSEMBLE);
    const { trained, training, blockTraining } = await train(
      pool,
      [network("A", 2), network("B", 1)],
      device,
      1,
      3,
    );
    assert.deepEqual(
      pool.started,
      ["A", "B"].flatMap((name) => [0, 1, 2].map((member) => `${name} member ${member}`)),
    );
    const [a, b] = trained;
    assert.deepEqual([...a!.score.predicted], [(0.1 + 0.2 + 0.7) / 3, 3]);
    assert.ok(Math.abs(a!.spread! - Math.sqrt((4 + 1 + 9) / 2)) < 1e-12);
    assert.deepEqual([[...b!.score.predicted], b!.spread], [[1, 1], 0]);
    const { members, ...own } = training.get("A")!;
    const alone = await train(new FakePool(), [network("A")], device);
    assert.deepEqual(own, alone.training.get("A"));
    assert.equal(alone.training.get("A")!.members, undefined);
    assert.equal(alone.trained[0]!.spread, undefined);
    const { parameters: _, ...record } = own;
    assert.deepEqual(members, [
      { member: 1, ...record, best_epoch: 2, epochs: TWO_EPOCHS },
      { member: 2, ...record },
    ]);
    const { validationLoss, ...others } = blockTraining.get("A")!.get(0)!;
    assert.deepEqual(others, { epochs: 4 / 3, bestEpoch: 4 / 3, zeroValidationLoss: 4 });
    assert.equal(validationLoss, 8 / 3);
  });

  test(`on ${device} a member that fails costs its ticker, and the first of those that fail says why`, async () => {
    const pool = new FakePool({
      "B member 1": new MucastError("diverged", "the first"),
      "B member 2": new MucastError("diverged", "the second"),
    });
    const { trained, failures } = await train(pool, [network("A"), network("B")], device, 1, 4);
    assert.deepEqual(
      trained.map(({ ticker }) => ticker),
      ["A"],
    );
    assert.deepEqual(failures, [{ ticker: "B", code: "diverged", message: failures[0]!.message }]);
    assert.match(failures[0]!.message, /the first/);
  });
}

for (const [device, gpus, slots, threads, width] of [
  ["cpu", 1, 2, 2, 1],
  ["cpu", 1, 9, 4, 2],
  ["cpu", 1, 1, 1, 1],
  ["cuda:0", 1, 16, 4, 1],
  ["cuda:0", 2, 16, 4, 2],
] as const) {
  test(`${width} members of a joint network run at a time on ${slots} slots of ${device} with ${threads} threads each, and ${gpus} GPUs`, async () => {
    const pool = new FakePool({}, width);
    await train(pool, [network("portfolio", 1, true)], device, gpus, 5, { slots, threads });
    assert.deepEqual([pool.mostAtOnce, pool.started.length, pool.stacks], [width, 5, []]);
  });
}

test("members of a joint network that has failed are not begun, and the error names the first that failed", async () => {
  const failing = { "portfolio member 1": new MucastError("diverged", "why", { epoch: 3 }) };
  const pool = new FakePool(failing);
  const training = train(pool, [network("portfolio", 1, true)], "cpu", 1, 5);
  await assert.rejects(training, failing["portfolio member 1"]);
  assert.ok(pool.started.length < 5);
});

test("of 50 members of each network no more wait in the pool than there are networks, and all are trained", async () => {
  const pool = new FakePool({}, 20);
  const names = Array.from({ length: 20 }, (_, index) => `T${index}`);
  const { trained } = await train(
    pool,
    names.map((name) => network(name)),
    "cpu",
    1,
    50,
  );
  assert.deepEqual([pool.mostAtOnce, pool.started.length, trained.length], [20, 1_000, 20]);
});

for (const device of ["cpu", "cuda:0"]) {
  test(`on ${device} an error that is not about a ticker ends the job, also beside one that is`, async () => {
    const pool = new FakePool({
      "A member 0": new MucastError("diverged", "why"),
      "A member 1": new MucastError("output_failed", "disk full"),
    });
    await assert.rejects(train(pool, [network("A")], device, 1, 2), { code: "output_failed" });
  });

  test(`on ${device} a member whose worker dies costs its ticker, and no other`, async () => {
    const pool = new FakePool({ "A member 2": new MucastError("engine_crashed", "A member 2: it died") });
    const stacked = device !== "cpu";
    const networks = [network("A", 2), ...(stacked ? [] : [network("B")])];
    const { trained, failures } = await train(pool, networks, device, 1, 3);
    assert.deepEqual(
      trained.map(({ ticker }) => ticker),
      stacked ? [] : ["B"],
    );
    assert.deepEqual(
      failures.map(({ ticker, code }) => [ticker, code]),
      [["A", "engine_crashed"]],
    );
  });
}

test("a worker that dies costs an ensemble whose other members are in another stack", async () => {
  const pool = new FakePool({ "T1 member 30": new MucastError("engine_crashed", "the worker died") });
  const networks = [network("T0", 3), network("T1", 2), network("T2", 1)];
  const { trained, failures } = await train(pool, networks, "cuda:0", 1, 50);
  assert.deepEqual(
    trained.map(({ ticker }) => ticker),
    ["T0"],
  );
  assert.deepEqual(
    failures.map(({ ticker, message }) => [ticker, message]),
    [
      ["T1", "T1 member 14: the worker died"],
      ["T2", "T2 member 0: the worker died"],
    ],
  );
});

test("members of a network that has failed are in no later stack", async () => {
  const failing = { "T0 member 1": new MucastError("diverged", "why") };
  const pool = new FakePool(failing);
  const { failures } = await train(
    pool,
    [network("T0", 2), network("T1", 1)],
    "cuda:0",
    1,
    MAX_STACK_SIZE + 3,
  );
  assert.deepEqual(pool.stacks, [MAX_STACK_SIZE, MAX_STACK_SIZE, 3]);
  assert.deepEqual(failures, [{ ticker: "T0", code: "diverged", message: "T0 member 1: why" }]);
});

test("predictions that are all the same are warned about where the forecasts that they stand for differ", async () => {
  const relative = network("A");
  const forecasts: PlannedNetwork["forecasts"] = function* (predicted) {
    const [trained] = yield* relative.forecasts(predicted);
    const returns = predicted.map((value, row) => 0.001 + 0.01 * (row + 1) * value);
    return [{ ...trained!, score: { ...trained!.score, predicted: returns } }];
  };
  const { trained } = await train(new FakePool({ A: { told: [0.5, 0.5] } }), [{ ...relative, forecasts }]);
  assert.match(trained[0]!.warnings[0]!.message, /^A: the model predicts 0\.5 for every score row\./);
});

test("predictions of members that differ and have one mean are warned about", async () => {
  const { trained } = await train(
    new FakePool({ "A member 0": { told: [1, 3] }, "A member 1": { told: [3, 1] } }),
    [network("A")],
    "cpu",
    1,
    2,
  );
  assert.deepEqual(
    trained[0]!.warnings.map(({ code }) => code),
    ["constant_predictions"],
  );
});
