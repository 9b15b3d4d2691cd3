/** Networks of a plan whose training is answered by a fake pool. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
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

const folder = mkdtempSync(join(tmpdir(), "mucast-train-"));
after(() => rmSync(folder, { recursive: true }));

type Answer = (Partial<TrainResult> & { readonly told?: readonly [number, number] }) | MucastError;

/** A fake pool: it answers by the label of a task, one turn of the event loop later, and counts what runs. */
export class FakePool {
  readonly started: string[] = [];
  /** How many networks each stack had. */
  readonly stacks: number[] = [];
  mostAtOnce = 0;
  #running = 0;
  readonly #answers: Readonly<Record<string, Answer>>;
  readonly #together: number;
  readonly #areTogether = Promise.withResolvers<void>();

  /** @param together no task is answered before this many run at the same time. */
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

  /** Some errors of the engine end one network of a stack, and others the whole task. */
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

export function network(name: string, size = 1, joint = false): PlannedNetwork {
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
    forecasts(predicted) {
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

export function train(
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
    signal: new AbortController().signal,
    report: () => undefined,
    timings: new FitTimings({}),
  });
}
