import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { FakePool, series, train } from "./train-networks.testing.ts";
import { MAX_STACK_SIZE } from "./train-networks.ts";

const numbered = (count: number) =>
  Array.from({ length: count }, (_, seconds) => series(`T${seconds}`, { seconds }));

test("the longest networks start first, and the outcome ascends by code point", async () => {
  const pool = new FakePool();
  const all = [series("b", { seconds: 2 }), series("B", { seconds: 1 }), series("10", { seconds: 3 })];
  const { names, training } = await train(pool, all);
  assert.deepEqual([pool.started, pool.mostAtOnce, names], [["10", "b", "B"], 3, ["10", "B", "b"]]);
  assert.deepEqual([...(training as ReadonlyMap<string, unknown>).keys()], ["10", "B", "b"]);
});

test("on GPUs networks are trained in stacks, the longest first and one stack per GPU at a time", async () => {
  const pool = new FakePool();
  const all = numbered(2 * MAX_STACK_SIZE + 1);
  const { names } = await train(pool, all, { device: "cuda:0" });
  assert.deepEqual(pool.stacks, [MAX_STACK_SIZE, MAX_STACK_SIZE, 1]);
  assert.deepEqual(pool.started, all.map(({ name }) => name).reverse());
  assert.deepEqual([pool.mostAtOnce, names.length], [1, all.length]);
  const cluster = new FakePool();
  await train(cluster, numbered(MAX_STACK_SIZE + 1), { device: "cuda:0", gpus: 3 });
  assert.deepEqual([cluster.stacks.sort(), cluster.mostAtOnce], [[21, 22, 22], 3]);
});

for (const [device, gpus, slots, threads, width] of [
  ["cpu", 1, 9, 4, 2],
  ["cuda:0", 2, 16, 4, 2],
] as const) {
  test(`${width} members of a joint network run at a time on ${slots} slots of ${device} with ${threads} threads each, and ${gpus} GPUs`, async () => {
    const pool = new FakePool();
    const portfolio = series("portfolio", { joint: true });
    await train(pool, [portfolio], { ...{ device, gpus, slots, threads }, ensemble: 5 });
    assert.deepEqual([pool.mostAtOnce, pool.started.length, pool.stacks], [width, 5, []]);
  });
}

test("an error of one network affects only its ticker, and any other ends the job", async () => {
  const failing = (code: MucastError["code"]) => new FakePool({ B: new MucastError(code, "B: why") });
  for (const code of ["diverged", "constant_target", "fit_failed", "engine_crashed"] as const) {
    const { names, failures } = await train(failing(code), [series("A"), series("B")]);
    assert.deepEqual([names, failures], [["A"], [{ ticker: "B", code, message: "B: why" }]]);
  }
  for (const device of ["cpu", "cuda:0"]) {
    const full = train(failing("output_failed"), [series("A"), series("B")], { device });
    await assert.rejects(full, { code: "output_failed" });
  }
});

test("a stack whose worker dies fails all of its tickers, and no other", async () => {
  const pool = new FakePool({ T0: new MucastError("engine_crashed", "the worker died") });
  const { names, failures } = await train(pool, numbered(MAX_STACK_SIZE + 9), { device: "cuda:0" });
  assert.deepEqual([names.length, failures.length], [MAX_STACK_SIZE, 9]);
  assert.deepEqual(failures[0], { ticker: "T0", code: "engine_crashed", message: "T0: the worker died" });
});

test("a joint network that fails ends the job with the error of its first failed member", async () => {
  const [first, second] = ["the first", "the second"].map((why) => new MucastError("diverged", why));
  const pool = new FakePool({ "portfolio member 1": first!, "portfolio member 3": second! }, [
    "portfolio member 1",
  ]);
  await assert.rejects(train(pool, [series("portfolio", { joint: true })], { ensemble: 5 }), first!);
});

const TWO_EPOCHS = [
  { train_loss: 2, validation_loss: 3 },
  { train_loss: 1, validation_loss: 2 },
];

for (const device of ["cpu", "cuda:0"]) {
  test(`on ${device} the forecast of an ensemble is the mean of its members, and the record is member 0's`, async () => {
    const pool = new FakePool({
      "A member 0": { predicted: [0.1, 1] },
      "A member 1": { predicted: [0.2, 2], best_epoch: 2, epochs: TWO_EPOCHS },
      "A member 2": { predicted: [0.7, 6] },
    });
    const all = [series("A", { seconds: 2 }), series("B")];
    const { tickers, recordOf, blockTraining } = await train(pool, all, { device, ensemble: 3 });
    const members = [0, 1, 2].map((member) => `member ${member}`);
    assert.deepEqual(
      pool.started,
      ["A", "B"].flatMap((name) => members.map((member) => `${name} ${member}`)),
    );
    const [a, b] = tickers;
    assert.deepEqual([...a!.score.predicted], [(0.1 + 0.2 + 0.7) / 3, 3]);
    assert.ok(Math.abs(a!.spread! - Math.sqrt((4 + 1 + 9) / 2)) < 1e-12);
    assert.deepEqual([[...b!.score.predicted], b!.spread], [[0, 0.5], 0]);
    const record = { epochs: TWO_EPOCHS.slice(0, 1), best_epoch: 1, zero_validation_loss: 4 };
    assert.deepEqual(recordOf("A"), {
      ...{ ...record, parameters: 5 },
      members: [
        { member: 1, ...record, best_epoch: 2, epochs: TWO_EPOCHS },
        { member: 2, ...record },
      ],
    });
    const blocks = blockTraining as ReadonlyMap<string, () => unknown>;
    const nowhere = [null, null, null, null];
    assert.deepEqual(blocks.get("A")!(), {
      epochs: [4 / 3, ...nowhere],
      best_epochs: [4 / 3, ...nowhere],
      validation_losses: [8 / 3, ...nowhere],
      zero_validation_losses: [4, ...nowhere],
    });
    const alone = await train(new FakePool(), [series("A")], { device });
    assert.deepEqual(alone.recordOf("A"), { ...record, parameters: 5 });
    assert.equal(alone.tickers[0]!.spread, undefined);
  });
}

const diverged = new MucastError("diverged", "the training loss exploded", { epoch: 2 });
const firstBlocks = (count: number) => ({ blocks: [...new Array(count).keys()] });

for (const device of ["cpu", "cuda:0"]) {
  test(`on ${device} the last good network forecasts a block whose own one diverges, and two in a row`, async () => {
    const pool = new FakePool({ "A 2": diverged, "A 3": diverged });
    const all = [series("A", firstBlocks(5)), series("B", firstBlocks(5))];
    const { tickers, failures } = await train(pool, all, { device });
    assert.deepEqual(failures, []);
    const [a, b] = tickers;
    assert.deepEqual([...a!.score.predicted], [0, 0.5, 1, 1.5, 1, 1.5, 1, 1.5, 4, 4.5]);
    assert.deepEqual([...b!.score.predicted], [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5]);
    assert.deepEqual([...a!.score.days], [0, 1, 10, 11, 20, 21, 30, 31, 40, 41]);
    assert.deepEqual(
      a!.models.map(
        ({ block, from, to, labelMean, isStandIn }) => `${block} ${from} ${to} ${labelMean} ${isStandIn}`,
      ),
      ["0 0 2 0 false", "1 2 4 1 false", "2 4 6 1 true", "3 6 8 1 true", "4 8 10 4 false"],
    );
    const [warning, ...others] = a!.warnings;
    assert.deepEqual([warning!.code, warning!.ticker, warning!.count, others], ["failed_refit", "A", 2, []]);
    assert.match(warning!.message, /^A: 2 refits failed, .* earlier blocks forecast 4 rows\. .*exploded$/);
    assert.deepEqual(b!.warnings, []);
  });
}

test("a worker that dies in a later block fails the ticker, or the job of a joint network", async () => {
  const [code, message] = ["engine_crashed", "the worker died"] as const;
  const error = new MucastError(code, message);
  const all = [series("A", firstBlocks(3)), series("B", firstBlocks(3))];
  const { names, failures } = await train(new FakePool({ "A 1": error }), all);
  assert.deepEqual([names, failures], [["B"], [{ ticker: "A", code, message }]]);
  const joint = series("A", { ...firstBlocks(3), joint: true });
  await assert.rejects(train(new FakePool({ "A 1": error }), [joint]), { code });
});

test("a joint network that diverges in a later block is reported for all tickers", async () => {
  const begins = { A: 0, L: 1, M: 2 };
  const joint = series("portfolio", { ...firstBlocks(3), joint: true, begins });
  const failing = new FakePool({ "portfolio 1": diverged });
  const { tickers, warnings, blockRows, failures } = await train(failing, [joint]);
  assert.deepEqual([...tickers[0]!.score.predicted], [0, 0.5, 0, 0.5, 2, 2.5]);
  assert.deepEqual([warnings.length, warnings[0]!.ticker, warnings[0]!.count], [1, undefined, 1]);
  assert.deepEqual([tickers[0]!.warnings, blockRows], [[], [7, 7, 21]]);
  // A ticker whose first network failed has no good one.
  const { code, message } = diverged;
  assert.deepEqual([tickers.length, failures], [2, [{ ticker: "L", code, message }]]);
});
