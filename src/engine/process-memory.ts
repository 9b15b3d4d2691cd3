import { readFileSync } from "node:fs";
import { MucastError } from "../contract/errors/errors.ts";

const PAGE_BYTES = 4_096;

/**
 * Memory that processes return only when they end: resident pages that do not belong to a file. Mapped input arrays do not count; a page
 * that several of the processes share, such as a forked worker with its host, counts once.
 * @param enough bytes up to which a cheaper count suffices, which may count shared pages twice.
 * @returns bytes; 0 for a process that has ended, or if there is no /proc (macOS).
 */
export function memoryOf(pids: readonly number[], enough: number): number {
  const sum = (bytesOf: (pid: number) => number) => pids.reduce((total, pid) => total + bytesOf(pid), 0);
  const most = sum(privateMemory);
  return most <= enough ? most : sum(proportionalMemory);
}

/** Like `memoryOf` for one process, but pages that it shares with others count in full. */
export function privateMemory(pid: number): number {
  const [, resident, shared] = textOf(`/proc/${pid}/statm`).split(" ").map(Number);
  return ((resident ?? 0) - (shared ?? 0)) * PAGE_BYTES;
}

/** The kernel walks over the pages for it. Before 5.14 a kernel does not report it; pages then count in full. */
function proportionalMemory(pid: number): number {
  const rollup = textOf(`/proc/${pid}/smaps_rollup`);
  const [, kibibytes] = /^Pss_Anon:\s+(\d+)/m.exec(rollup) ?? [];
  return kibibytes === undefined ? privateMemory(pid) : Number(kibibytes) * 1_024;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // The process has ended.
  }
}

export function mib(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}

/**
 * The error of a job that was killed because of its processes' memory, in bytes.
 * @param facts.limit of all jobs together.
 * @param facts.share of this job, beside those that ran with it.
 * @param facts.jobs the number of jobs that shared the limit, including this one.
 * @param facts.together what all jobs held, including the process that waits for a job.
 */
export function outOfMemory(facts: {
  readonly held: number;
  readonly limit: number;
  readonly share: number;
  readonly jobs: number;
  readonly together: number;
}): MucastError {
  const { held, limit, share, jobs, together } = facts;
  const over = `over the limit of ${mib(limit)}`;
  const message =
    jobs === 1 && together === held
      ? `the job's processes held ${mib(held)} of memory, ${over}`
      : `the job's processes held ${mib(held)} of memory, and all job processes together ${mib(together)}, ${over}; ` +
        `its share was ${mib(share)}, as one of ${jobs}`;
  return new MucastError("out_of_memory", message, {
    held_bytes: held,
    limit_bytes: limit,
    share_bytes: Math.floor(share),
    jobs,
  });
}
