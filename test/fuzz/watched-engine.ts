/** An engine whose processes are watched: deaths, files, sockets, memory and time of what runs on it. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { MucastError } from "../../src/contract/errors/errors.ts";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { EnginePool, WORKER_DIED } from "../../src/engine/pool/pool.ts";
import { engineProcesses } from "../engine/pool-fixture.ts";

export const MAX_SECONDS = 60;
export const MAX_BYTES = 2 * 2 ** 30;

/** The effects of one piece of work on the engine. */
export interface WorkEffects {
  /** `succeeded`, or the code of the error. */
  readonly outcome: string;
  readonly message: string;
  /** Forbidden effects of the work, as text. */
  readonly findings: readonly string[];
}

/** Codes that arguments must never cause, however they are written. */
const DEFECTS = /engine_crashed|out_of_memory|engine_unavailable|internal|not a MucastError/;

export class WatchedEngine {
  /** Folders for the home, the temporary files and the work of the engine. */
  readonly folder: string;
  readonly workFolder: string;
  readonly #python: string;
  /** Deaths of workers since the last check. */
  readonly #deaths: string[] = [];
  #pool: EnginePool | undefined;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "mucast-fuzz-"));
    for (const name of ["home", "tmp", "work"]) mkdirSync(join(this.folder, name));
    this.workFolder = join(this.folder, "work");
    this.#python = join(this.folder, "python");
    const { python } = findEnvironment();
    const places = `HOME='${this.folder}/home' TMPDIR='${this.folder}/tmp' MPLCONFIGDIR='${this.folder}/tmp'`;
    const filter = resolve("test/fuzz/without-sockets.py");
    writeFileSync(this.#python, `#!/bin/sh\n${places} exec '${python}' '${filter}' '${python}' "$@"\n`);
    chmodSync(this.#python, 0o755);
  }

  /** Whether the kernel kills a worker that opens a socket; otherwise only a socket that stays open is detected. */
  get seesSockets(): boolean {
    return spawnSync(this.#python, ["-c", "import socket; socket.socket()"]).signal === "SIGSYS";
  }

  /** One worker, which has every library. */
  get pool(): EnginePool {
    this.#pool ??= EnginePool.start({
      python: this.#python,
      libraries: ["sklearn", "xgboost", "lightgbm", "catboost"],
      workers: 1,
      workFolder: this.workFolder,
      // For all processes, including this one; what the worker holds is checked case by case.
      memoryLimitBytes: 2 * MAX_BYTES,
      log: (line) => {
        if (line.startsWith(WORKER_DIED)) this.#deaths.push(line);
      },
    });
    return this.#pool;
  }

  /** Does `work` and checks its effects. It must stop at `signal`. */
  async watch(work: (signal: AbortSignal) => Promise<string>): Promise<WorkEffects> {
    const worker = await this.#worker();
    const before = { files: this.#files(), open: openBy(worker) };
    resetPeak(worker);
    const stop = new AbortController();
    const timer = setTimeout(
      () => stop.abort(new Error(`not done in ${MAX_SECONDS} s`)),
      MAX_SECONDS * 1_000,
    );
    const { outcome, message } = await outcomeOf(work(stop.signal));
    clearTimeout(timer);
    const bytes = peakOf(worker);
    const findings: string[] = [];
    if (stop.signal.aborted) findings.push(`it was not done in ${MAX_SECONDS} s`);
    else if (DEFECTS.test(outcome)) findings.push(message);
    findings.push(...this.#deaths.splice(0));
    if (bytes > MAX_BYTES) findings.push(`it took ${bytes} bytes`);
    const left = this.#files().filter((path) => !before.files.includes(path));
    if (left.length > 0) findings.push(`it left files: ${left.join(", ")}`);
    const open = openBy(worker).filter((target) => !before.open.includes(target));
    if (open.length > 0) findings.push(`it left open: ${open.join(", ")}`);
    for (const path of left) rmSync(join(this.folder, path), { recursive: true, force: true });
    if (findings.length > 0) await this.#restart();
    return { outcome, message, findings };
  }

  async close(): Promise<void> {
    await this.#restart();
    rmSync(this.folder, { recursive: true });
  }

  async #restart(): Promise<void> {
    await this.#pool?.close();
    this.#pool = undefined;
  }

  /** The pid of the worker, started and idle. */
  async #worker(): Promise<number> {
    const [worker] = engineProcesses(this.workFolder).workers;
    if (worker !== undefined) return worker;
    const estimator = { library: "sklearn", class: "Ridge", params: {} } as const;
    await this.pool.run({ task: "trial", estimator, scaler: "standard", columns: 2 });
    return engineProcesses(this.workFolder).workers[0]!;
  }

  #files(): string[] {
    return readdirSync(this.folder, { recursive: true, encoding: "utf8" });
  }
}

async function outcomeOf(running: Promise<string>): Promise<{ outcome: string; message: string }> {
  try {
    const said = await running;
    return { outcome: said, message: said };
  } catch (error) {
    if (!(error instanceof MucastError)) return { outcome: "not a MucastError", message: String(error) };
    const codes = [error.code, ...(error.data.failures ?? []).map(({ code }) => code)];
    return { outcome: [...new Set(codes)].join(" "), message: error.message };
  }
}

/** What a process has open except pipes: files, and sockets by their number. */
function openBy(pid: number): string[] {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).map((name) => readlinkSync(join(folder, name)));
  } catch {
    return []; // It has ended, which is a finding by itself.
  }
}

function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** Bytes; 0 if the process has ended. */
function peakOf(pid: number): number {
  try {
    const [, kibibytes] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))!;
    return Number(kibibytes) * 1_024;
  } catch {
    return 0;
  }
}
