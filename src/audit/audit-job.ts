import { findJob } from "../contract/config/payload.ts";
import {
  AUDIT_CHECKS,
  AUDIT_DEFAULTS,
  type AuditCheckName,
  type AuditOptions,
  requestedWindow,
} from "../contract/config/payload-schemas.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { type JobContext, type JobRequest, withMemoryGuard } from "../jobs/shared/job.ts";
import { openResult } from "../jobs/shared/job-output.ts";
import { timed } from "../jobs/shared/timings.ts";
import type { AuditInputs } from "./audit-inputs.ts";
import type { AuditCheck } from "./check.ts";
import { CHECKS } from "./checks.ts";
import { runAudit } from "./run-audit.ts";

/** The inputs and options of an audit, from the members of its payload. @throws MucastError like findJob. */
export function auditInputs(request: JobRequest, options: AuditOptions): AuditInputs {
  return {
    request: { ...request, window: requestedWindow(options) },
    operation: findJob(request.config, options.operation),
    previous: {
      featureUrl: options.previous_feature_url,
      dataExtractorUrl: options.previous_data_extractor_url,
    },
    accepted: new Set(options.accept),
    truncations: options.truncations ?? AUDIT_DEFAULTS.truncations,
    quick: options.quick === true,
    portable: options.portable,
    permutations: options.permutations ?? AUDIT_DEFAULTS.permutations,
  };
}

/**
 * An audit as an operation of a service: it writes its verdict to `audit_<id>.json`, even if there are findings, and reports each
 * check as a stage.
 * @throws MucastError like runAudit; then it writes no blob.
 */
export function runAuditJob(
  request: JobRequest,
  options: AuditOptions,
  context: JobContext,
): Promise<ResultRecord> {
  return withMemoryGuard(context, async (guarded) => {
    const inputs = auditInputs(request, options);
    const blob = await openResult("audit", inputs.operation, request, guarded);
    const names: readonly AuditCheckName[] = options.checks ?? AUDIT_CHECKS;
    const checks = CHECKS.filter(({ name }) => names.includes(name)).map((check) =>
      timedCheck(check, guarded),
    );
    const verdict = await runAudit(inputs, quiet(guarded), { checks });
    return blob.write(JSON.stringify(verdict), guarded);
  });
}

/** The times of an audit are those of its checks, not of the jobs that they run. */
function timedCheck(check: AuditCheck, context: JobContext): AuditCheck {
  return { ...check, run: (inputs, own) => timed(context, check.name, () => check.run(inputs, own)) };
}

/** Reports only the progress of the checks; reading is not a stage of the audit. */
function quiet(context: JobContext): JobContext {
  const stages: readonly string[] = AUDIT_CHECKS;
  const report: JobContext["report"] = (event) => {
    if (event.kind !== "progress" || stages.includes(event.stage)) context.report(event);
  };
  return { ...context, report, onTiming: undefined };
}
