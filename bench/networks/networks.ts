/**
 * Training on the demo data, side by side in one run and for the same number of steps: run_dl_job, a competent hand-written loop
 * with PyTorch's DataLoader, networks of comparable size in neuralforecast, and the ideal, which is the time of a bare step on
 * one thread x steps / cores.
 *
 * Usage: npm run bench -- dl [--options lstm,mlp] [--repeats 3] [--tickers 20] [--epochs 20]
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import type { TrainingRecord } from "../../src/jobs/dl/train-networks.ts";
import { type PreparedBlobs, preparePrices } from "../../src/prepare/prepare-prices.ts";
import { peerPython, type Table } from "../bench.ts";
import { isJoint, OPTIONS } from "../planted/planted-minima.ts";
import { type Train, withEngine } from "./shared-engine.ts";

const run = promisify(execFile);
const PEERS = fileURLToPath(new URL("../peers/networks", import.meta.url));
const PRICES = "test/cases/sp500-20/prices.csv.gz";
const WINDOW = { start: "2005-01-01", learningEnd: "2018-12-31" };
/** neuralforecast has networks like these. */
const IN_NEURALFORECAST = ["lstm", "cnn", "mlp"];

/** One repeat: seconds of each way to train. */
interface Measured {
  readonly steps: number;
  readonly ours: number;
  readonly loop: number;
  readonly ideal: number;
  readonly neuralforecast: number | undefined;
}

const text = (value: string) => ({ type: "string", default: value }) as const;

/** Takes about half an hour. */
export async function benchNetworks(args: readonly string[]): Promise<readonly Table[]> {
  const { values } = parseArgs({
    args: [...args],
    options: { options: text(OPTIONS.join()), repeats: text("3"), tickers: text("20"), epochs: text("20") },
  });
  const options = values.options.split(",");
  const [repeats, tickers, epochs] = [values.repeats, values.tickers, values.epochs].map(Number) as [
    ...[number, number, number],
  ];
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  try {
    const blobs = await demoBlobs(folder, tickers);
    const measured = new Map<string, Measured[]>(options.map((option) => [option, []]));
    for (let repeat = 1; repeat <= repeats; repeat++) {
      for (const option of options) {
        const figures = await measure(option, blobs, epochs);
        process.stderr.write(`${repeat} of ${repeats}, ${option}: ${JSON.stringify(figures)}\n`);
        measured.get(option)!.push(figures);
      }
    }
    const data = `${blobs.tickers.length} tickers, ${blobs.dates} days, ${blobs.features.length} features`;
    return [
      {
        title: `training, ${data}: seconds and ratios, means of ${repeats} repeats (smallest to largest)`,
        header: [
          ...["", "steps", "mucast s", "loop s", "loop/mucast"],
          ...["neuralforecast s", "neuralforecast/mucast", "ideal s", "mucast/ideal"],
        ],
        rows: [...measured].map(([option, figures]) => [option, ...rowOf(figures)]),
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The two input blobs of the first tickers of the demo data. */
async function demoBlobs(folder: string, tickers: number): Promise<PreparedBlobs> {
  const all = await preparePrices({ csvPath: PRICES, outFolder: folder, options: WINDOW });
  if (tickers >= all.tickers.length) return all;
  const options = { ...WINDOW, tickers: all.tickers.slice(0, tickers) };
  return preparePrices({ csvPath: PRICES, outFolder: folder, options });
}

async function measure(option: string, blobs: PreparedBlobs, epochs: number): Promise<Measured> {
  const config = {
    "NN params": {
      "Dot prediction": {
        "current option": option,
        global_settings: { device: "cpu" },
        training_params: { epochs, patience: 5 },
      },
    },
  };
  const { featurePath, dataExtractorPath } = blobs;
  const cores = availableParallelism();
  const ours = await withEngine(cores, ["torch"], (train) => timeTraining(train, blobs, config, cores));
  const replayed = [featurePath, dataExtractorPath, option, JSON.stringify(ours.epochs)];
  const torch = findEnvironment("dl").python;
  const loop = await peer(torch, "loop.py", replayed);
  const tickers = String(blobs.tickers.length);
  const bareSteps = isJoint(option) ? "20" : "400";
  const { step } = await peer(torch, "step.py", [option, String(blobs.features.length), tickers, bareSteps]);
  const forecast = IN_NEURALFORECAST.includes(option)
    ? await peer(peerPython("neuralforecast"), "neural_forecast.py", replayed)
    : undefined;
  process.stderr.write(
    `parameters: mucast ${ours.parameters}, loop ${loop.parameters}, neuralforecast ${forecast?.parameters}\n`,
  );
  return {
    steps: loop.steps!,
    ours: ours.seconds,
    loop: loop.train!,
    ideal: (step! * loop.steps!) / cores,
    neuralforecast: forecast?.train,
  };
}

interface TrainingPhase {
  /** From the last byte read to the last network's predictions. */
  readonly seconds: number;
  /** The number of epochs for each ticker, or for `portfolio`. */
  readonly epochs: Readonly<Record<string, number>>;
  /** The number of parameters of each network; all tickers of the bench have the same features. */
  readonly parameters: number;
}

/** The training of run_dl_job without reading and without the import of torch, which other measurements also exclude. */
async function timeTraining(
  train: Train,
  blobs: { readonly featurePath: string; readonly dataExtractorPath: string },
  config: object,
  workers: number,
): Promise<TrainingPhase> {
  const { featurePath, dataExtractorPath } = blobs;
  let read = Number.NaN;
  const { fits } = await train({
    featurePath,
    dataExtractorPath,
    config,
    workers,
    report: (event) => {
      if (event.kind === "progress" && event.stage === "read") read = performance.now();
    },
  });
  const seconds = (performance.now() - read) / 1_000;
  const records = [...(fits.training as unknown as ReadonlyMap<string, TrainingRecord>)];
  return {
    seconds,
    epochs: Object.fromEntries(records.map(([name, { epochs }]) => [name, epochs.length])),
    parameters: records[0]![1].parameters,
  };
}

/** The figures that a peer prints. */
async function peer(
  python: string,
  script: string,
  args: readonly string[],
): Promise<Record<string, number>> {
  const { stdout } = await run(python, [join(PEERS, script), ...args], { maxBuffer: 2 ** 26 });
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

function rowOf(repeats: readonly Measured[]): string[] {
  const over = (figure: (measured: Measured) => number | undefined, digits: number, spread: boolean) => {
    const values = repeats.map(figure).filter((value) => value !== undefined);
    if (values.length === 0) return "";
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const ends = `${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)}`;
    return spread && values.length > 1 ? `${mean.toFixed(digits)} (${ends})` : mean.toFixed(digits);
  };
  return [
    over(({ steps }) => steps, 0, false),
    over(({ ours }) => ours, 1, false),
    over(({ loop }) => loop, 1, false),
    over(({ loop, ours }) => loop / ours, 2, true),
    over(({ neuralforecast }) => neuralforecast, 1, false),
    over(({ neuralforecast, ours }) => neuralforecast && neuralforecast / ours, 2, true),
    over(({ ideal }) => ideal, 1, false),
    over(({ ours, ideal }) => ours / ideal, 2, true),
  ];
}
