import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import type { PlannedNetwork } from "./planned-network.ts";
import { FakePool, network, train } from "./train-networks.testing.ts";
import { MAX_STACK_SIZE } from "./train-networks.ts";

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

test("on the GPUs of a cluster, one stack per GPU is trained at a time, each with its share of the networks", async () => {
  const pool = new FakePool();
  const names = Array.from({ length: MAX_STACK_SIZE + 1 }, (_, index) => `T${index}`);
  const networks = names.map((name, index) => network(name, index));
  const { trained } = await train(pool, networks, "cuda:0", 3);
  assert.deepEqual(pool.stacks.toSorted(), [21, 22, 22]);
  assert.deepEqual([pool.mostAtOnce, trained.length], [3, names.length]);
});

test("a stack whose worker dies fails all of its tickers, and no other", async () => {
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
  test(`${code} affects only its ticker`, async () => {
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

test("a ticker called portfolio fails like any other", async () => {
  const pool = new FakePool({ portfolio: new MucastError("diverged", "why") });
  const { failures } = await train(pool, [network("portfolio"), network("A")]);
  assert.deepEqual(
    failures.map(({ ticker }) => ticker),
    ["portfolio"],
  );
});

test("predictions that are all the same cause a warning", async () => {
  const { trained } = await train(new FakePool({ A: { prediction_scale: 0 } }), [network("A")]);
  assert.deepEqual(
    trained[0]!.warnings.map(({ code, ticker }) => [code, ticker]),
    [["constant_predictions", "A"]],
  );
});

test("predictions that are all the same cause a warning even if the forecasts that they stand for differ", async () => {
  const relative = network("A");
  const forecasts: PlannedNetwork["forecasts"] = (predicted) => {
    const [trained] = relative.forecasts(predicted);
    const returns = predicted.map((value, row) => 0.001 + 0.01 * (row + 1) * value);
    return [{ ...trained!, score: { ...trained!.score, predicted: returns } }];
  };
  const { trained } = await train(new FakePool({ A: { told: [0.5, 0.5] } }), [{ ...relative, forecasts }]);
  assert.match(trained[0]!.warnings[0]!.message, /^A: the model predicts 0\.5 for every score row\./);
});
