/**
 * Runs test files, each in a process and with a folder for temporary files of its own, and none for longer than it may:
 * one that never ends is told by its name, and everything that it has started is ended.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** Several times what the longest file takes on a busy machine. */
const MINUTES_AT_MOST = 15;

export interface FileRun {
  readonly file: string;
  readonly passed: boolean;
  /** What it printed, and whether it was ended. */
  readonly said: string;
  readonly seconds: number;
}

/** @param onEnd gets each run as it ends. @returns the names of the files that failed. */
export async function runTestFiles(
  files: readonly string[],
  filesAtATime: number,
  onEnd: (run: FileRun) => void,
): Promise<string[]> {
  const waiting = [...files];
  const failed: string[] = [];
  const runWhatWaits = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const run = await runTestFile(file, AbortSignal.timeout(MINUTES_AT_MOST * 60_000));
      if (!run.passed) failed.push(file);
      onEnd(run);
    }
  };
  await Promise.all(Array.from({ length: filesAtATime }, runWhatWaits));
  return failed.sort();
}

/** @param overdue ends it: it has had its time. */
export async function runTestFile(file: string, overdue: AbortSignal): Promise<FileRun> {
  const began = performance.now();
  const temporary = mkdtempSync(join(tmpdir(), "mucast-test-"));
  // A PostgreSQL that runs as another user has its folder in there.
  chmodSync(temporary, 0o711);
  const child = spawn(process.execPath, ["--test-reporter=spec", file], {
    stdio: ["ignore", "pipe", "pipe"],
    // Not as a part of a run of `node --test`, which reads its files' reports in a form of its own.
    env: { ...process.env, TMPDIR: temporary, NODE_TEST_CONTEXT: undefined },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
  }
  const end = () => {
    child.kill("SIGKILL");
    void endProcessesOf(temporary);
  };
  overdue.addEventListener("abort", end, { once: true });
  const [status] = await once(child, "close");
  overdue.removeEventListener("abort", end);
  const passed = status === 0 && !overdue.aborted;
  if (!passed) await endProcessesOf(temporary);
  await rm(temporary, { recursive: true, force: true, maxRetries: 10 });
  if (overdue.aborted)
    said += `${file} did not end in its time and was ended, with all that it had started\n`;
  return { file, passed, said, seconds: (performance.now() - began) / 1_000 };
}

const LOOKS_AT_MOST = 500;

/**
 * Kills every process whose folder for temporary files is this one or inside it, and those that they start meanwhile: a
 * file's process, and all that descend from it, whatever group or session they are in. On Linux only.
 */
async function endProcessesOf(temporary: string): Promise<void> {
  for (let looks = 0; looks < LOOKS_AT_MOST; looks++) {
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

/** None of a process that has ended, or is another user's. */
function variablesOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
  } catch {
    return [];
  }
}
