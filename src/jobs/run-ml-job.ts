import { parseMlSettings, seedOf } from "../contract/ml-settings.ts";
import type { ResultRecord } from "../contract/result-record.ts";
import { librariesFor } from "../engine/protocol.ts";
import { evaluateInTurns } from "./evaluate-in-turns.ts";
import type { JobContext, JobRequest } from "./job.ts";
import { openPlace } from "./job-place.ts";
import { tickerWarnings } from "./job-warnings.ts";
import { withMemoryGuard } from "./memory-guard.ts";
import { evaluateMl, mlEvaluationUnits } from "./ml-evaluation.ts";
import { mlOutput } from "./ml-output.ts";
import { provenance } from "./provenance.ts";
import { readAndFit } from "./read-and-fit.ts";
import { timed } from "./timings.ts";
import { withEngine } from "./with-engine.ts";

/**
 * One regressor per ticker: reads both blobs, fits every walk-forward fold and the final model, and leaves one
 * output blob. The engine imports its libraries while the blobs are read, and fits while features still arrive.
 *
 * @throws MucastError of every code in docs/errors.md with an exit code; then no output is left.
 */
export function runMlJob(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  return withMemoryGuard(context, (guarded) => fitAndLeave(request, guarded));
}

async function fitAndLeave(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  const { settings, warnings } = parseMlSettings(request.config);
  for (const warning of warnings) context.report({ kind: "warning", warning });
  const place = await openPlace("run_ml_job", request, context);
  const need = {
    environment: "ml",
    libraries: librariesFor(settings.estimator.library, settings.scaler),
    workers: context.workers,
    memoryBytes: context.memoryBytes,
  } as const;
  return withEngine(need, context, async (engine) => {
    const { inputs, outcome } = await readAndFit(request, context, settings, engine);
    const { fitted } = outcome;
    const units = mlEvaluationUnits(fitted.length);
    const evaluation = await evaluateInTurns(evaluateMl(fitted, settings.intervals), units, context);
    const aboutTickers = tickerWarnings(inputs, fitted, evaluation.warnings);
    const { versions } = await engine.pool.greeting;
    const document = mlOutput({
      id: request.id,
      createdAt: new Date(),
      window: inputs.window,
      asOf: inputs.asOf,
      settings,
      evaluation,
      warnings: [...warnings, ...inputs.warnings, ...aboutTickers],
      failures: outcome.failures,
      provenance: provenance({
        digests: inputs.digests(),
        config: request.config,
        engineVersions: versions,
        seed: seedOf(settings),
        device: "cpu",
      }),
    });
    const news = { warnings: aboutTickers, failures: outcome.failures };
    return timed(context, "write", () => place.leave(document, news, context));
  });
}
