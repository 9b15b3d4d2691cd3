import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { MucastError } from "../../contract/errors/errors.ts";
import type { JobEvent } from "../../contract/output/job-events.ts";
import { findEnvironment } from "../../engine/environment/environment.ts";
import { writeNpy } from "../../engine/npy.ts";
import type { TrainNetworkTask } from "../../engine/pool/network-protocol.ts";
import { EnginePool } from "../../engine/pool/pool.ts";
import { FitTimings } from "../shared/timings.ts";
import type { BlockForecasts } from "./collect-networks.ts";
import type { NetworkSeries } from "./network-plan.ts";
import {
  EpochCount,
  MAX_STACK_SIZE,
  type TrainedNetwork,
  type TrainOptions,
  trainAll,
} from "./train-networks.ts";

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

/** The network of one ticker over that many windows, including 10 validation and 5 score windows. */
function network(name: string, windows: number, label = (i: number) => Math.sin(i * i)): NetworkSeries {
  const rows = windows + LOOKBACK - 1;
  return {
    ...{ name, joint: false, blocks: [0], begins: new Map([[name, 0]]), seconds: () => windows },
    write(_learned, _block, { device, workFolder }) {
      const path = (kind: string) => join(workFolder, `${kind}-${name}.npy`);
      const file = (kind: string, values: ArrayLike<number>, shape: number[]) =>
        writeNpy(path(kind), Float64Array.from(values), shape);
      const features = Array.from({ length: rows * FEATURES }, (_, i) => Math.cos(i * i + windows));
      const task: TrainNetworkTask = {
        ...{ task: "train_network", label: name, ticker: name },
        network: { architecture: "mlp", hidden_dims: [6], dropout: 0.2 },
        training: {
          ...{ epochs: EPOCHS, batch_size: 16, learning_rate: 0.01, patience: EPOCHS },
          ...{ optimizer: "adam", weight_decay: 0, grad_clip: 1, loss: "mse", monitor: "loss" },
        },
        ...{ scaler: "standard", lookback: LOOKBACK, seed: 1, member: 0, device },
        x: file("x", features, [rows, FEATURES]),
        ends: file(
          "e",
          Array.from({ length: windows }, (_, i) => i + LOOKBACK - 1),
          [windows],
        ),
        labels: file(
          "l",
          Array.from({ length: windows - 5 }, (_, i) => label(i)),
          [windows - 5],
        ),
        parts: { train: windows - 15, validate: 10, predict: 5 },
        predictions: { ref: path("p") },
      };
      const collect = (predictions: Float64Array) => [
        { ticker: name, predictions, predictionUnit: 1 } as BlockForecasts,
      ];
      return { task, latest: [14], lost: [], collect };
    },
  };
}

/** The result of each network, trained alone or in stacks; every file is removed but those of the features. */
async function train(
  networks: readonly NetworkSeries[],
  ensemble: number,
  stack?: number,
  report: TrainOptions["report"] = () => undefined,
) {
  const workFolder = mkdtempSync(join(folder, "work-"));
  const options: TrainOptions = {
    ...{ pool, workFolder, device: "cpu", threads: 1, slots: 1, gpus: 1, epochs: EPOCHS, ensemble },
    ...{ signal: new AbortController().signal, report, timings: new FitTimings({}) },
  };
  const all = networks.map((series) => ({ series, block: 0, learned: 0 }));
  const lanes = { lanes: 1, ...(stack === undefined ? {} : { stack }) };
  const ended = await trainAll(all, options, new EpochCount(all.length, options), lanes);
  assert.ok(readdirSync(workFolder).every((name) => name.startsWith("x-")));
  return new Map(ended.map(({ series, result }) => [series.name, result]));
}

function requireNear(values: readonly number[], expected: readonly number[]): void {
  assert.equal(values.length, expected.length);
  for (const [i, value] of values.entries()) assert.ok(Math.abs(value - expected[i]!) < NEAR);
}

test("members in a stack are trained as if each were alone, member 0 as without an ensemble, and a failed one affects no other", async () => {
  const networks = [network("LONG", 90), network("SAME", 60, () => 0.5), network("SHORT", 50)];
  const single = await train(networks, 1);
  const alone = await train(networks, 3);
  const events: JobEvent[] = [];
  const stacked = await train(networks, 3, MAX_STACK_SIZE, (event) => events.push(event));
  const [expected, failed] = [alone, stacked].map((results) => results.get("SAME") as MucastError);
  assert.match(expected!.message, /^SAME member 0: /);
  assert.deepEqual([failed!.code, failed!.message], ["constant_target", expected!.message]);
  for (const name of ["LONG", "SHORT"]) {
    const [first, own, one] = [single, alone, stacked].map((results) => results.get(name) as TrainedNetwork);
    const { members, ...member0 } = own!.record;
    assert.deepEqual(member0, first!.record);
    const membersOf = ({ record }: TrainedNetwork) => [record, ...record.members!];
    assert.deepEqual(
      membersOf(one!).map(({ best_epoch }) => best_epoch),
      membersOf(own!).map(({ best_epoch }) => best_epoch),
    );
    for (const loss of ["train_loss", "validation_loss"] as const) {
      const lossesOf = (result: TrainedNetwork) =>
        membersOf(result).flatMap(({ epochs }) => epochs.map((epoch) => epoch[loss]));
      requireNear(lossesOf(one!), lossesOf(own!));
    }
    const [{ predictions, spread }, { predictions: ownPredictions, spread: ownSpread }] = [
      one!.tickers[0]!,
      own!.tickers[0]!,
    ];
    requireNear([...predictions, spread!], [...ownPredictions, ownSpread!]);
    assert.ok(ownSpread! > 0);
  }
  const epochs = events.flatMap((event) => (event.kind === "progress" && event.epoch ? [event] : []));
  assert.deepEqual(
    epochs.map(({ ticker, member, epoch }) => [ticker, member, epoch]),
    [1, 2, 3].flatMap((epoch) => ["LONG", "SHORT"].flatMap((name) => [0, 1, 2].map((m) => [name, m, epoch]))),
  );
});
