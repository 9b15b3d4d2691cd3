import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { JobEvent } from "../../contract/output/job-events.ts";
import { findEnvironment } from "../../engine/environment/environment.ts";
import { writeNpy } from "../../engine/npy.ts";
import type { TrainNetworkTask } from "../../engine/pool/network-protocol.ts";
import { EnginePool } from "../../engine/pool/pool.ts";
import { FitTimings } from "../shared/timings.ts";
import { EpochCount } from "./epoch-count.ts";
import { NetworkMembers } from "./network-members.ts";
import type { PlannedNetwork, TrainedTicker } from "./planned-network.ts";
import type { TrainOptions } from "./train-networks.ts";
import { MAX_STACK_SIZE, trainNetworks, trainQueue } from "./train-networks.ts";

const EPOCHS = 3;
const LOOKBACK = 4;
const FEATURES = 3;
const NEAR = 1e-4;

const folder = mkdtempSync(join(tmpdir(), "mucast-stacks-"));
const pool = EnginePool.start({
  python: findEnvironment("dl").python,
  libraries: ["torch"],
  workers: 1,
  workFolder: folder,
});
after(async () => {
  await pool.close();
  rmSync(folder, { recursive: true });
});

/** Plans the network of one ticker over that many windows, including 10 validation and 5 score windows. */
function network(name: string, windows: number, label = (i: number) => Math.sin(i * i)): PlannedNetwork {
  const parts = { train: windows - 15, validate: 10, predict: 5 };
  const file = (kind: string) => join(folder, `${kind}-${name}.npy`);
  return {
    name,
    joint: false,
    block: 0,
    isStandIn: false,
    isFirst: true,
    begins: new Set([name]),
    tickers: [name],
    size: windows,
    dates: [],
    excluded: () => [],
    standIn: () => assert.fail("no refits"),
    async task({ device }) {
      const rows = windows + LOOKBACK - 1;
      const x = Float64Array.from({ length: rows * FEATURES }, (_, i) => Math.cos(i * i + windows));
      const ends = Float64Array.from({ length: windows }, (_, i) => i + LOOKBACK - 1);
      const task: TrainNetworkTask = {
        task: "train_network",
        label: name,
        ticker: name,
        network: { architecture: "mlp", hidden_dims: [6], dropout: 0.2 },
        training: {
          epochs: EPOCHS,
          batch_size: 16,
          learning_rate: 0.01,
          patience: EPOCHS,
          optimizer: "adam",
          weight_decay: 0,
          grad_clip: 1,
          loss: "mse",
          monitor: "loss",
        },
        scaler: "standard",
        lookback: LOOKBACK,
        seed: 1,
        member: 0,
        device,
        x: writeNpy(file("x"), x, [rows, FEATURES]),
        ends: writeNpy(file("ends"), ends, [windows]),
        labels: writeNpy(
          file("labels"),
          Float64Array.from({ length: windows - 5 }, (_, i) => label(i)),
          [windows - 5],
        ),
        parts,
        predictions: { ref: file("p") },
      };
      return { task, files: [task.x.ref, task.ends.ref, task.labels.ref] };
    },
    latest: () => [14],
    forecasts(predicted) {
      return [
        {
          ticker: name,
          warnings: [],
          predictions: predicted.slice(),
          predictionUnit: 1,
          score: { predicted: predicted.slice() },
          validation: {},
          models: [{ block: 0 }],
        } as unknown as TrainedTicker,
      ];
    },
  };
}

function options(ensemble = 1): TrainOptions {
  return {
    pool,
    device: "cpu",
    threads: 1,
    slots: 1,
    gpus: 1,
    epochs: EPOCHS,
    ensemble,
    signal: new AbortController().signal,
    report: () => undefined,
    timings: new FitTimings({}),
  };
}

/** The name of each network, and its result or why it failed. */
async function inStacks(networks: readonly PlannedNetwork[], own: TrainOptions, count: EpochCount) {
  const all = networks.map((network) => new NetworkMembers(network, own.ensemble));
  await trainQueue(all, { lanes: 1, stack: MAX_STACK_SIZE }, own, count);
  return all.map(({ network: { name }, result }) => {
    if (!("code" in result)) return [name, result] as const;
    const { code, message } = result;
    return [name, { ticker: name, code, message }] as const;
  });
}

test("tickers in a stack are trained as if each were alone, a failed one affects no other, and every file is removed", async () => {
  const networks = [network("LONG", 90), network("SAME", 60, () => 0.5), network("SHORT", 50)];
  const alone = await trainNetworks(networks, options());
  const events: JobEvent[] = [];
  const count = new EpochCount(networks.length, options(), (event) => events.push(event));
  const stacked = await inStacks(networks, options(), count);
  const [failure] = alone.failures;
  assert.equal(failure?.code, "constant_target");
  assert.deepEqual(stacked[1], ["SAME", failure]);
  for (const [name, trained] of [stacked[0]!, stacked[2]!]) {
    assert.ok("record" in trained, name);
    const { epochs, ...record } = trained.record;
    const { epochs: expected, ...own } = alone.training.get(name)!;
    assert.deepEqual(record, own);
    assert.equal(epochs.length, EPOCHS);
    for (const [index, { train_loss, validation_loss }] of epochs.entries()) {
      assert.ok(Math.abs(train_loss - expected[index]!.train_loss) < NEAR);
      assert.ok(Math.abs(validation_loss - expected[index]!.validation_loss) < NEAR);
    }
    const predicted = alone.trained.find(({ ticker }) => ticker === name)!.score.predicted;
    assert.equal(predicted.length, 15);
    for (const [index, value] of trained.tickers[0]!.score.predicted.entries())
      assert.ok(Math.abs(value - predicted[index]!) < NEAR);
  }
  for (const kind of ["x", "ends", "labels", "p"]) assert.ok(!existsSync(join(folder, `${kind}-LONG.npy`)));
  const epochs = events.flatMap((event) => (event.kind === "progress" && event.epoch ? [event] : []));
  assert.deepEqual(
    epochs.map(({ ticker, epoch }) => [ticker, epoch]),
    [1, 2, 3].flatMap((epoch) => [
      ["LONG", epoch],
      ["SHORT", epoch],
    ]),
  );
  const last = events.at(-1)!;
  assert.ok(last.kind === "progress" && last.done === last.total);
});

test("members of an ensemble are trained in stacks as if each were alone, and member 0 as without an ensemble", async () => {
  const networks = () => [network("TWO", 70), network("SAME", 60, () => 0.5), network("ONE", 50)];
  const alone = await trainNetworks(networks(), options());
  const tasks = await trainNetworks(networks(), options(3));
  assert.deepEqual(tasks.failures, [
    { ticker: "SAME", code: "constant_target", message: tasks.failures[0]!.message },
  ]);
  assert.match(tasks.failures[0]!.message, /^SAME member 0: /);
  const count = new EpochCount(3, options(3), () => undefined);
  const stacked = await inStacks(networks(), options(3), count);
  assert.deepEqual(stacked[1], ["SAME", tasks.failures[0]]);
  for (const [name, trained] of [stacked[0]!, stacked[2]!]) {
    assert.ok("record" in trained, name);
    const { members, ...member0 } = tasks.training.get(name)!;
    assert.deepEqual(member0, alone.training.get(name));
    assert.deepEqual(
      trained.record.members!.map(({ member, best_epoch }) => [member, best_epoch]),
      members!.map(({ member, best_epoch }) => [member, best_epoch]),
    );
    const [own] = trained.tickers;
    const expected = tasks.trained.find(({ ticker }) => ticker === name)!;
    for (const [index, value] of own!.score.predicted.entries())
      assert.ok(Math.abs(value - expected.score.predicted[index]!) < NEAR);
    assert.ok(expected.spread! > 0 && Math.abs(own!.spread! - expected.spread!) < NEAR);
  }
  assert.deepEqual(readdirSync(folder), []);
});
