import type { JobContext } from "./job.ts";
import { type EngineNeed, type JobEngine, openEngine } from "./job-engine.ts";
import { now, timed } from "./timings.ts";

/**
 * Opens the engine of a job, runs `body` with it, and ends it whatever happens.
 * @throws MucastError engine_unavailable, output_failed; what `body` throws.
 */
export async function withEngine<T>(
  need: EngineNeed,
  context: JobContext,
  body: (engine: JobEngine) => Promise<T>,
): Promise<T> {
  const start = now();
  const engine = (context.openEngine ?? openEngine)(need);
  engine.pool.greeting.then(
    () => context.onTiming?.({ name: "engine", start, end: now() }),
    () => undefined, // Whoever runs a task hears of it.
  );
  try {
    return await body(engine);
  } finally {
    await timed(context, "close", () => engine.close());
  }
}
