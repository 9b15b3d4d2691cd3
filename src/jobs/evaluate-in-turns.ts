import type { Pausable } from "../contract/pausable.ts";
import { inTurns } from "../contract/turns.ts";
import type { JobContext } from "./job.ts";
import { timed } from "./timings.ts";

/**
 * Judges the forecasts of a job, telling how far that is.
 * @param units of progress that the work counts.
 * @throws the reason of the job's signal.
 */
export async function evaluateInTurns<T>(
  work: Pausable<T>,
  units: number,
  context: Pick<JobContext, "report" | "signal" | "onTiming">,
): Promise<T> {
  const total = Math.max(1, units);
  const report = (done: number) => context.report({ kind: "progress", stage: "evaluate", done, total });
  const evaluation = await timed(context, "evaluate", () =>
    // All units are told once, when the last table is there.
    inTurns(work, context.signal, (done) => report(Math.min(done, total - 1))),
  );
  report(total);
  return evaluation;
}
