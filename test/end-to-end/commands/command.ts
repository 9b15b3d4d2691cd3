/** Runs `mucast` in a separate process, with its own folder for temporary files. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BlobPair } from "../jobs/job-runs.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const MAIN = join(ROOT, "src/cli/main.ts");

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves once a line of stderr is a JSON object that `wanted` accepts; rejects if the process ends first. */
  told(wanted: (line: Record<string, unknown>) => boolean): Promise<void>;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** TMPDIR of the process; created if it does not exist. */
  readonly temporary?: string;
  /** The command prefix, such as a shell in a namespace: the words before `node`. */
  readonly through?: readonly string[];
}

/** The environment of the tests must not affect what a job reads. */
const OWN =
  /^(FEATURE_URL|DATA_EXTRACTOR_URL|CONFIG|BLOB_URL|OPERATION_ID|MUCAST_(ALLOWED_BLOB_URLS|PRIVATE_ORIGINS)|(AZURE|AWS|IDENTITY)_.*|MLFLOW_.*|NODE_(?!COMPILE_CACHE$).*)$/;

export async function startMucast(args: readonly string[], options: CommandOptions = {}): Promise<Running> {
  const { env = {}, temporary, through = [] } = options;
  if (temporary !== undefined) await mkdir(temporary, { recursive: true });
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN.test(name)));
  const [command, ...rest] = [...through, process.execPath, MAIN, ...args] as [string, ...string[]];
  const child = spawn(command, rest, {
    cwd: ROOT,
    env: { ...inherited, ...(temporary === undefined ? {} : { TMPDIR: temporary }), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return watch(child);
}

export async function mucast(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  return (await startMucast(args, options)).ended;
}

/** The arguments of run_ml_job on two blobs; the output goes to the folder of the feature blob. */
export function jobArguments(blobs: BlobPair, config: string, ...more: string[]): string[] {
  return ["run_ml_job", ...inputArguments(blobs, config), ...more];
}

/** The arguments of every job command: two blobs and a config. */
export function inputArguments({ features, prices }: BlobPair, config: string): string[] {
  return ["--feature-url", features, "--data-extractor-url", prices, "--config", config];
}

function watch(child: ChildProcess): Running {
  let [stdout, stderr] = ["", ""];
  const heard = new Set<() => void>();
  child.stdout!.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr!.setEncoding("utf8").on("data", (text) => {
    stderr += text;
    for (const look of heard) look();
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  const told = (wanted: (line: Record<string, unknown>) => boolean) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!jsonLines(stderr.slice(0, stderr.lastIndexOf("\n") + 1)).some(wanted)) return;
        heard.delete(look);
        resolve();
      };
      heard.add(look);
      look();
      void ended.then(({ code }) =>
        reject(new Error(`ended with ${code} before it printed the line:\n${stderr}`)),
      );
    });
  return { child, ended, told };
}

export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** Pids of processes whose current folder is `folder` (Linux): a job's engine runs in its work folder. */
export async function processesIn(folder: string): Promise<number[]> {
  const found: number[] = [];
  // Synchronous, because as many promises cost three times the processor time.
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (readlinkSync(`/proc/${name}/cwd`).startsWith(`${folder}/`)) found.push(Number(name));
    } catch {
      // It has ended, or is a zombie.
    }
  }
  return found;
}

/** Listing every process of the system costs about a millisecond. */
const MILLISECONDS_BETWEEN_LOOKS = 20;

/** Waits until `state` returns something; the test's own time limit ends a wait for something that never happens. */
export async function until<T>(state: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const value = await state();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, MILLISECONDS_BETWEEN_LOOKS));
  }
}
