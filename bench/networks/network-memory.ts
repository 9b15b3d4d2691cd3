/**
 * Peak memory of run_dl_job on 500 tickers x 5,000 days x 50 features: a gzip blob generated as a stream, one epoch, and the
 * memory of every process of the job, measured while it runs. Linux only.
 *
 * Usage: node bench/networks/network-memory.ts [--options lstm] [--tickers 500] [--days 5000] [--features 50]
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { table } from "../../src/cli/terminal/output-table.ts";
import type { Operation } from "../../src/contract/config/job-operations.ts";
import type { Table } from "../table.ts";
import { writeLargeMarket } from "./large-market.ts";

const SIZE = { tickers: 500, days: 5_000, features: 50 };
const OPTIONS = ["lstm", "transformer", "portfolio_lstm"];
const MILLISECONDS_BETWEEN_LOOKS = 200;

export async function benchNetworkMemory(options = OPTIONS, size = SIZE): Promise<readonly Table[]> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  try {
    const blobs = await writeLargeMarket(folder, size);
    const rows: string[][] = [];
    for (const option of options) {
      const { anonymous, withFiles, seconds } = await runWatched(
        option,
        blobs.featurePath,
        blobs.dataExtractorPath,
      );
      rows.push([
        option,
        ...[anonymous, withFiles].map((bytes) => (bytes / 1e9).toFixed(2)),
        seconds.toFixed(0),
      ]);
      process.stderr.write(`${rows.at(-1)!.join(" ")}\n`);
    }
    const blob = `${(statSync(blobs.featurePath).size / 1e9).toFixed(1)} GB gzip`;
    return [
      {
        title: `peak memory: ${size.tickers} tickers x ${size.days} days x ${size.features} features, ${blob}, one epoch`,
        header: ["", "peak GB", "with mapped files GB", "seconds"],
        rows,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runWatched(option: string, features: string, prices: string) {
  const prediction = { "current option": option, training_params: { epochs: 1 } };
  const config = JSON.stringify({ "NN params": { "Dot prediction": prediction } });
  return watchedJob("run_dl_job", config, features, prices);
}

/** Runs a command and measures the memory of all its processes together; returns the peaks in bytes. */
export async function watchedJob(operation: Operation, config: string, features: string, prices: string) {
  const args = [
    "src/cli/main.ts",
    operation,
    "--quiet",
    ...["--feature-url", features],
    ...["--data-extractor-url", prices],
    ...["--config", config],
  ];
  const started = performance.now();
  const job = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  const peak = { anonymous: 0, withFiles: 0 };
  const look = () => {
    const now = memoryOf(job.pid!);
    peak.anonymous = Math.max(peak.anonymous, now.anonymous);
    peak.withFiles = Math.max(peak.withFiles, now.withFiles);
  };
  const looking = setInterval(look, MILLISECONDS_BETWEEN_LOOKS);
  const printed = text(job.stderr);
  const [code] = await once(job, "exit");
  clearInterval(looking);
  if (code !== 0) throw new Error(`${operation} ended with exit code ${code}:\n${await printed}`);
  return { ...peak, seconds: (performance.now() - started) / 1_000 };
}

interface TreeMemory {
  /** Memory that these processes return only at their end. */
  readonly anonymous: number;
  /** Including mapped files: libraries, and matrices on disk that the kernel may drop at any time. */
  readonly withFiles: number;
}

/** Bytes of a process and all its descendants; a page that several of them share counts once. Swap is not counted. */
function memoryOf(root: number): TreeMemory {
  const sum = { anonymous: 0, withFiles: 0 };
  for (const pid of treeOf(root)) {
    const rollup = textOf(`/proc/${pid}/smaps_rollup`);
    sum.anonymous += bytesOf(rollup, "Pss_Anon") + bytesOf(rollup, "Pss_Shmem");
    sum.withFiles += bytesOf(rollup, "Pss");
  }
  return sum;
}

/** A process and all its descendants. */
export function treeOf(root: number): Set<number> {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(Number(name));
    if (parent !== undefined) parents.set(Number(name), parent);
  }
  const tree = new Set([root]);
  for (let before = 0; before < tree.size; ) {
    before = tree.size;
    for (const [pid, parent] of parents) if (tree.has(parent)) tree.add(pid);
  }
  return tree;
}

/** A process may end at any moment; then it has no parent and no memory. */
function parentOf(pid: number): number | undefined {
  const status = textOf(`/proc/${pid}/stat`);
  // The name, in parentheses, may contain anything.
  return status ? Number(status.slice(status.lastIndexOf(")") + 2).split(" ")[1]) : undefined;
}

function bytesOf(rollup: string, name: string): number {
  const [, kibibytes = 0] = new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(rollup) ?? [];
  return Number(kibibytes) * 1024;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return "";
    throw error;
  }
}

if (import.meta.main) {
  const number = { type: "string" } as const;
  const { values } = parseArgs({
    options: { options: number, tickers: number, days: number, features: number },
  });
  const size = {
    tickers: Number(values.tickers ?? SIZE.tickers),
    days: Number(values.days ?? SIZE.days),
    features: Number(values.features ?? SIZE.features),
  };
  for (const { title, header, rows } of await benchNetworkMemory(values.options?.split(","), size))
    process.stdout.write(`${title}\n\n${table(header, rows)}\n\n`);
}
