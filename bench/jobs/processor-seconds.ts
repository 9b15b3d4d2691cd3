/** Processor seconds of jobs of many small fits, separately for Node, the engine's host and its workers (Linux). */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Table } from "../table.ts";
import { type JobBlobs, MARKET_DAYS, SMALL, writeMarket, writeSmallTickers } from "./job-blobs.ts";

const run = promisify(execFile);
const CHILD = fileURLToPath(new URL("./processor-child.ts", import.meta.url));
const RUNS = 3;
const CONFIG = JSON.stringify({ "ML params": { model: "ridge" } });

interface Seconds {
  readonly node: number;
  readonly host: number;
  readonly workers: number;
  /** Wall-clock seconds. */
  readonly seconds: number;
}

const JOBS: readonly [name: string, write: (folder: string) => Promise<JobBlobs>][] = [
  [`500 x ${MARKET_DAYS} x 26`, (folder) => writeMarket(500, folder)],
  [`20000 x ${SMALL.days} x ${SMALL.features}`, (folder) => writeSmallTickers(20_000, folder)],
];

/** @returns a table of both jobs. Takes ten minutes. */
export async function benchProcessorSeconds(): Promise<Table> {
  const rows: string[][] = [];
  for (const [name, write] of JOBS) {
    const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
    try {
      const best = await bestOf(await write(folder), join(folder, "outputs"));
      const { node, host, workers, seconds } = best;
      rows.push([name, ...[workers, host, node, total(best), seconds].map((value) => value.toFixed(1))]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  return {
    title: `ridge, 15 x 15 folds where there are rows for them: processor seconds, best of ${RUNS}`,
    header: ["tickers x days x features", "workers", "host", "Node", "together", "wall s"],
    rows,
  };
}

async function bestOf({ featurePath, dataExtractorPath }: JobBlobs, outputs: string): Promise<Seconds> {
  mkdirSync(outputs);
  let best: Seconds | undefined;
  for (let i = 0; i < RUNS; i++) {
    const args = [CHILD, featurePath, dataExtractorPath, CONFIG, outputs];
    const { stdout } = await run(process.execPath, args);
    const measured = JSON.parse(stdout) as Seconds;
    if (best === undefined || total(measured) < total(best)) best = measured;
  }
  return best!;
}

function total({ node, host, workers }: Seconds): number {
  return node + host + workers;
}
