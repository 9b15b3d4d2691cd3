/**
 * Runs test files, in processes that each have a folder for temporary files and a time limit: a file that never ends is reported
 * as failed, and everything that it started is killed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";

/** Reports processor seconds, and refuses starts if MUCAST_TEST_STARTS is `refuse`. Compiles as the product does. */
const PRELOADED = ["--no-maglev", "--import", new URL("./test-starts.mjs", import.meta.url).href];

/** Node's options to run several files in one process. */
const IN_ONE_PROCESS = ["--test", "--test-isolation=none"];

/** Several times what the longest slow file, and what all fast ones, take on a busy machine. */
const MAX_MINUTES = { allow: 10, refuse: 20 } as const;
/** Added for each further slow file of a process. */
const MORE_MINUTES = 0.5;

/** Whether the files may start processes, servers and databases; scripts/test-starts.mjs enforces this. */
export type Starts = "refuse" | "allow";

export interface FileRun {
  /** Several, if they share a process. */
  readonly files: readonly string[];
  readonly starts: Starts;
  readonly passed: boolean;
  /** Its output, and whether it was killed. */
  readonly said: string;
  readonly seconds: number;
  /** Processor seconds of its process and of those that it started and waited for; undefined if it was killed. */
  readonly processorSeconds: number | undefined;
}

/** @param groups the files of each process. @param onEnd receives each run as it ends. */
export async function runTestFiles(
  groups: readonly (readonly string[])[],
  atATime: number,
  starts: Starts,
  onEnd: (run: FileRun) => void,
): Promise<void> {
  await runConcurrently(groups, atATime, async (files) => {
    const further = starts === "allow" ? files.length - 1 : 0;
    const minutes = MAX_MINUTES[starts] + further * MORE_MINUTES;
    onEnd(await runTestFile(files, AbortSignal.timeout(minutes * 60_000), starts));
  });
}

/** Calls `work` on each item, in order, this many at a time. */
export async function runConcurrently<T>(
  items: readonly T[],
  atATime: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const lane = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: atATime }, lane));
}

/** @param overdue kills it when its time is over. */
export async function runTestFile(
  files: readonly string[],
  overdue: AbortSignal,
  starts: Starts = "allow",
): Promise<FileRun> {
  const began = performance.now();
  const temporary = mkdtempSync(join(tmpdir(), "mucast-test-"));
  // A PostgreSQL that runs as another user has its folder in there.
  chmodSync(temporary, 0o711);
  const together = files.length > 1 ? IN_ONE_PROCESS : [];
  const failures = join(temporary, "failures.tap");
  const reporters = reportersTo(failures);
  const child = spawn(process.execPath, [...PRELOADED, ...together, ...reporters, ...files], {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    // Not as a part of a run of `node --test`, which reads its files' reports in its own format.
    env: { ...process.env, TMPDIR: temporary, NODE_TEST_CONTEXT: undefined, MUCAST_TEST_STARTS: starts },
  });
  let said = "";
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
  }
  let report = "";
  (child.stdio[3] as Readable).setEncoding("utf8").on("data", (text) => {
    report += text;
  });
  const kill = () => {
    child.kill("SIGKILL");
    void killProcessesOf(temporary);
  };
  overdue.addEventListener("abort", kill, { once: true });
  const [status] = await once(child, "close");
  overdue.removeEventListener("abort", kill);
  const passed = status === 0 && !overdue.aborted;
  if (!passed) await killProcessesOf(temporary);
  // The report it would have sent at its end.
  if (overdue.aborted) said += failuresIn(failures);
  await rm(temporary, { recursive: true, force: true, maxRetries: 10 });
  if (overdue.aborted)
    said += `${files} did not end in its time and was killed, with all that it had started\n`;
  const { processorSeconds } = report === "" ? {} : JSON.parse(report);
  return { files, starts, passed, said, seconds: (performance.now() - began) / 1_000, processorSeconds };
}

/** For people on stdout, where the reason of a failure comes only at the end; and in TAP, where it comes at once. */
function reportersTo(failures: string): string[] {
  const destinations = { spec: "stdout", tap: failures };
  return Object.entries(destinations).flatMap(([reporter, destination]) => [
    `--test-reporter=${reporter}`,
    `--test-reporter-destination=${destination}`,
  ]);
}

/** @returns each failing test of a TAP report, with the YAML that follows it. */
function failuresIn(report: string): string {
  const text = existsSync(report) ? readFileSync(report, "utf8") : "";
  return text.match(/^ *not ok [\s\S]*?^ *\.\.\.\n/gm)?.join("") ?? "";
}

const MAX_LOOKS = 500;

/**
 * Kills every process whose folder for temporary files is this one or inside it, and those that they start meanwhile: a file's process and
 * all its descendants, whatever group or session they are in. On Linux only.
 */
async function killProcessesOf(temporary: string): Promise<void> {
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    const found = processesOf(temporary);
    if (found.length === 0) return;
    for (const pid of found) kill(pid);
    await pause(20);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function processesOf(temporary: string): number[] {
  if (process.platform !== "linux") return [];
  const isIn = (variable: string) => `${variable}/`.startsWith(`TMPDIR=${temporary}/`);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && variablesOf(name).some(isIn))
    .map(Number);
}

/** None for a process that has ended, or belongs to another user. */
function variablesOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
  } catch {
    return [];
  }
}
