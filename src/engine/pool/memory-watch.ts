import type { MucastError } from "../../contract/errors/errors.ts";
import { defaultMemoryBytes } from "../../contract/machine/machine-memory.ts";
import { memoryOf, mib, outOfMemory, privateMemory } from "../process-memory.ts";
import type { Workers } from "./workers.ts";

const INTERVAL_MILLISECONDS = 200;

/**
 * Kills the largest worker when the processes of a job together exceed the limit, before the system's out-of-memory killer picks a process
 * by its own rules. If this process and the host hold more than any worker, no ticker is to blame, and the job fails.
 * @param options.base pids of this process and the host.
 * @param options.fail called if the job would exceed the limit even without its largest worker.
 * @returns the timer that ends the watch when it is cleared.
 */
export function watchMemory(options: {
  readonly limitBytes: number | undefined;
  readonly base: () => readonly number[];
  readonly workers: Workers;
  readonly fail: (error: MucastError) => void;
}): NodeJS.Timeout {
  const { limitBytes: limit = defaultMemoryBytes(), workers } = options;
  const look = () => {
    const base = options.base();
    const living = [...workers].flatMap((worker) =>
      worker.killed || worker.pid === undefined ? [] : { worker, pid: worker.pid },
    );
    const together = memoryOf([...base, ...living.map(({ pid }) => pid)], limit);
    if (together <= limit) return;
    const sized = living.map((entry) => ({ ...entry, bytes: privateMemory(entry.pid) }));
    const largest = sized.toSorted((a, b) => b.bytes - a.bytes)[0];
    const ours = memoryOf(base, 0);
    if (largest === undefined || largest.bytes < ours) {
      options.fail(outOfMemory({ held: together, together, limit, share: limit, jobs: 1 }));
      return;
    }
    const details =
      `it held ${mib(largest.bytes)} of memory when the processes of the job together held ${mib(together)}, ` +
      `over the limit of ${mib(limit)}`;
    workers.kill(largest.worker, { details, mayEndBetter: largest.bytes + ours <= limit });
  };
  return setInterval(look, INTERVAL_MILLISECONDS).unref();
}
