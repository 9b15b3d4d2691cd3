import { defaultMemoryBytes } from "../contract/machine-memory.ts";
import { privateMemory } from "../engine/memory.ts";
import { outOfMemory } from "../engine/out-of-memory.ts";
import type { JobContext } from "./job.ts";

const INTERVAL_MILLISECONDS = 200;

/**
 * Runs a job while its own process holds no more than the job may; what its engine holds beside it, the engine's pool
 * watches. Linux alone tells it.
 * @throws MucastError out_of_memory; what `body` throws.
 */
export async function withMemoryGuard<T>(
  context: JobContext,
  body: (context: JobContext) => Promise<T>,
): Promise<T> {
  const limit = context.memoryBytes ?? defaultMemoryBytes();
  const stop = new AbortController();
  const look = () => {
    const held = privateMemory(process.pid);
    if (held <= limit) return;
    stop.abort(outOfMemory({ held, together: held, limit, share: limit, jobs: 1 }));
  };
  look();
  const timer = setInterval(look, INTERVAL_MILLISECONDS).unref();
  try {
    return await body({ ...context, signal: AbortSignal.any([context.signal, stop.signal]) });
  } finally {
    clearInterval(timer);
  }
}
