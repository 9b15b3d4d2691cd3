/**
 * What an ensemble of 5 costs compared with one network: processor seconds of the training of run_dl_job, with its engine, on the demo
 * data. Every network trains the same number of epochs, so that early stops do not decide the ratio. Linux only.
 *
 * Usage: node bench/networks/ensembles.ts [--options lstm,mlp] [--tickers 20] [--epochs 10] [--repeats 3]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "../../src/cli/terminal/output-table.ts";
import type { PreparedBlobs } from "../../src/prepare/prepare-prices.ts";
import { processTimeOf } from "../processor-ticks.ts";
import type { Table } from "../table.ts";
import { treeOf } from "./network-memory.ts";
import { demoBlobs } from "./networks.ts";
import { type Train, withEngine } from "./shared-engine.ts";

const MEMBERS = 5;

interface BenchSettings {
  readonly options: readonly string[];
  readonly tickers: number;
  readonly epochs: number;
  readonly repeats: number;
}

/** Seconds of one training. */
interface Cost {
  readonly processors: number;
  readonly clock: number;
}

const ALL: BenchSettings = {
  options: ["lstm", "mlp", "portfolio_lstm"],
  tickers: 20,
  epochs: 10,
  repeats: 3,
};

/** Takes about a quarter of an hour. */
export async function benchEnsembles(asked: BenchSettings = ALL): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  try {
    const blobs = await demoBlobs(folder, asked.tickers);
    const cores = availableParallelism();
    const rows = await withEngine(cores, ["torch"], async (train) => {
      const measured: string[][] = [];
      for (const option of asked.options) {
        // One unmeasured run: the first use of an option loads its part of PyTorch.
        await costOf(train, blobs, option, 1, 1, cores);
        const [one, five]: [Cost[], Cost[]] = [[], []];
        for (let repeat = 0; repeat < asked.repeats; repeat++) {
          one.push(await costOf(train, blobs, option, 1, asked.epochs, cores));
          five.push(await costOf(train, blobs, option, MEMBERS, asked.epochs, cores));
        }
        measured.push([option, ...figures(one, five, "processors"), ...figures(one, five, "clock")]);
      }
      return measured;
    });
    return {
      title: `an ensemble of ${MEMBERS} beside one network, ${blobs.tickers.length} tickers, ${asked.epochs} epochs, ${cores} workers`,
      header: ["", "processor s of 1", "of 5", "ratio", "clock s of 1", "of 5", "ratio"],
      rows,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Time of everything between the read blobs and the mean of the forecasts. */
async function costOf(
  train: Train,
  { featurePath, dataExtractorPath }: PreparedBlobs,
  option: string,
  ensemble: number,
  epochs: number,
  workers: number,
): Promise<Cost> {
  const config = {
    "NN params": {
      "Dot prediction": {
        "current option": option,
        global_settings: { device: "cpu" },
        training_params: { epochs, patience: epochs, ensemble },
      },
    },
  };
  let before: Cost = { processors: Number.NaN, clock: Number.NaN };
  await train({
    featurePath,
    dataExtractorPath,
    config,
    workers,
    report: (event) => {
      if (event.kind === "progress" && event.stage === "read") before = now();
    },
  });
  const after = now();
  return { processors: after.processors - before.processors, clock: after.clock - before.clock };
}

/** For this process and its engine, whose workers stay from training to training. */
function now(): Cost {
  let processors = 0;
  for (const pid of treeOf(process.pid)) processors += processTimeOf(pid)?.seconds ?? 0;
  return { processors, clock: performance.now() / 1_000 };
}

/** The smallest of each, which is least disturbed by other work on the machine. */
function figures(ones: readonly Cost[], fives: readonly Cost[], figure: keyof Cost): string[] {
  const [one, five] = [ones, fives].map((costs) => Math.min(...costs.map((cost) => cost[figure])));
  return [one!.toFixed(1), five!.toFixed(1), (five! / one!).toFixed(2)];
}

if (import.meta.main) {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { options: text, tickers: text, epochs: text, repeats: text } });
  const { title, header, rows } = await benchEnsembles({
    options: values.options?.split(",") ?? ALL.options,
    tickers: Number(values.tickers ?? ALL.tickers),
    epochs: Number(values.epochs ?? ALL.epochs),
    repeats: Number(values.repeats ?? ALL.repeats),
  });
  process.stdout.write(`${title}\n\n${table(header, rows)}\n\n`);
}
