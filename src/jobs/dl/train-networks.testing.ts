/** Networks of a plan whose training is answered by a fake pool. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import type { JobEvent } from "../../contract/output/job-events.ts";
import { writeNpy } from "../../engine/npy.ts";
import type {
  TrainNetworkTask,
  TrainResult,
  TrainStackResult,
  TrainStackTask,
} from "../../engine/pool/network-protocol.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { FitTimings } from "../shared/timings.ts";
import type { BlockForecasts } from "./collect-networks.ts";
import { collectNetworks } from "./collect-networks.ts";
import type { NetworkSeries, WrittenNetwork } from "./network-plan.ts";
import { type TrainOptions, trainNetworks } from "./train-networks.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-train-"));
after(() => rmSync(folder, { recursive: true }));

type Answer = (Partial<TrainResult> & { readonly predicted?: readonly [number, number] }) | MucastError;

/** The block whose labels a task learns. */
type FakeTask = TrainNetworkTask & { readonly learned: number };

/**
 * A fake pool: it answers by the label of a task, or by its label and block (`A 2`), one turn of the event loop later, and counts what
 * runs. A network forecasts the block that it learned from.
 */
export class FakePool {
  /** The labels of tasks. */
  readonly started: string[] = [];
  /** How many networks each stack had. */
  readonly stacks: number[] = [];
  mostAtOnce = 0;
  #running = 0;
  readonly #answers: Readonly<Record<string, Answer>>;
  /** Tasks that end a few turns later. */
  readonly #slow: readonly string[];

  constructor(answers: Readonly<Record<string, Answer>> = {}, slow: readonly string[] = []) {
    this.#answers = answers;
    this.#slow = slow;
  }

  async run(task: FakeTask | TrainStackTask): Promise<TrainResult | TrainStackResult> {
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#running);
    const turns = task.task !== "train_stack" && this.#slow.includes(task.label!) ? 9 : 1;
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
    this.#running--;
    if (task.task !== "train_stack") return this.#answer(task);
    this.stacks.push(task.networks.length);
    return { results: task.networks.map((network) => this.#inStack(network as FakeTask)) };
  }

  /** Some errors of the engine end one network of a stack, and others the whole task. */
  #inStack(network: FakeTask): TrainStackResult["results"][number] {
    try {
      return this.#answer(network);
    } catch (error) {
      if (!(error instanceof MucastError && error.code === "diverged")) throw error;
      return { code: error.code, message: error.message, data: error.data };
    }
  }

  #answer({ label, learned, predictions: { ref } }: FakeTask): TrainResult {
    this.started.push(label!);
    const answer = this.#answers[`${label} ${learned}`] ?? this.#answers[label!];
    if (answer instanceof MucastError) throw answer;
    const { predicted = [learned, learned + 0.5], ...changed } = answer ?? {};
    return {
      epochs: [{ train_loss: 2, validation_loss: 3 }],
      ...{ best_epoch: 1, zero_validation_loss: 4, parameters: 5, seconds: 9 },
      predictions: writeNpy(ref, Float64Array.from(predicted), [2]),
      ...changed,
    };
  }
}

let files = 0;

interface FakeSeries {
  readonly joint?: boolean;
  readonly seconds?: number;
  readonly blocks?: readonly number[];
  /** The block of each ticker's first network. */
  readonly begins?: Readonly<Record<string, number>>;
}

/** The networks of one ticker, or of all, each for a block of two score rows. */
export function series(
  name: string,
  { joint = false, seconds = 1, blocks = [0], begins = { [name]: blocks[0]! } }: FakeSeries = {},
): NetworkSeries {
  const write = (learned: number, block: number): WrittenNetwork => {
    const file = (kind: string) => ({ ref: join(folder, `${kind}${files}.npy`) });
    const task = { ends: file("e"), labels: file("l"), predictions: file("p"), member: 0 };
    files++;
    const collect = (predictions: Float64Array) =>
      Object.entries(begins).flatMap(([ticker, begin]): BlockForecasts[] => {
        if (begin > learned) return [];
        const days = Int32Array.of(10 * block, 10 * block + 1);
        const rows = { days, labelDays: days, labels: predictions, volatility: predictions };
        const facts = { warnings: [] } as unknown as NonNullable<BlockForecasts["facts"]>;
        return [
          {
            ticker,
            score: { ...rows, predicted: predictions, spans: [] },
            model: { block, fitRows: 7, labelMean: learned, isStandIn: learned !== block },
            ...{ predictions, predictionUnit: 1 },
            ...(learned === block && begin === block ? { facts } : {}),
          },
        ];
      });
    return {
      task: { ticker: name, label: name, learned, ...task } as unknown as TrainNetworkTask,
      ...{ latest: Object.keys(begins).map(() => 1), lost: [], collect },
    };
  };
  return { name, joint, blocks, begins: new Map(Object.entries(begins)), seconds: () => seconds, write };
}

/** Trains on one CPU with two slots, for 4 epochs. */
export async function train(
  pool: FakePool,
  all: readonly NetworkSeries[],
  options: Partial<TrainOptions> = {},
) {
  const events: JobEvent[] = [];
  const networks = await trainNetworks(all, {
    ...{ pool: pool as unknown as EnginePool, workFolder: folder, device: "cpu", slots: 2, threads: 1 },
    ...{ gpus: 1, epochs: 4, ensemble: 1, signal: new AbortController().signal },
    report: (event) => events.push(event),
    timings: new FitTimings({}),
    ...options,
  });
  const outcome = collectNetworks(networks, 5);
  const recordOf = (name: string) => {
    const { result } = networks.find(({ series: own }) => own.name === name)!;
    assert.ok(!(result instanceof MucastError));
    return result.record;
  };
  return { ...outcome, names: outcome.tickers.map(({ ticker }) => ticker), events, recordOf };
}
