import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { FakePool, network, train } from "./train-networks.testing.ts";
import { MAX_STACK_SIZE } from "./train-networks.ts";

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
  test(`on ${device} the forecast of an ensemble is the mean of its members, and the record is member 0's`, async () => {
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

  test(`on ${device} a failed member fails its ticker, and the first failed one gives the reason`, async () => {
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

test("members of a failed joint network are not started, and the error names the first that failed", async () => {
  const failing = { "portfolio member 1": new MucastError("diverged", "why", { epoch: 3 }) };
  const pool = new FakePool(failing);
  const training = train(pool, [network("portfolio", 1, true)], "cpu", 1, 5);
  await assert.rejects(training, failing["portfolio member 1"]);
  assert.ok(pool.started.length < 5);
});

test("at most as many of 50 members per network wait in the pool as there are networks, and all are trained", async () => {
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
  test(`on ${device} an error that is not about a ticker ends the job, even beside one that is`, async () => {
    const pool = new FakePool({
      "A member 0": new MucastError("diverged", "why"),
      "A member 1": new MucastError("output_failed", "disk full"),
    });
    await assert.rejects(train(pool, [network("A")], device, 1, 2), { code: "output_failed" });
  });

  test(`on ${device} a member whose worker dies fails its ticker, and no other`, async () => {
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

test("a worker that dies fails an ensemble whose other members are in another stack", async () => {
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

test("members of a failed network are in no later stack", async () => {
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

test("differing predictions of members that share one mean cause a warning", async () => {
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
