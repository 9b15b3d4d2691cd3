/** Runs one check as an audit does, and keeps the check's own result. */
import type { AuditBlob } from "../contract/output/audit-blob.ts";
import type { JobContext } from "../jobs/shared/job.ts";
import type { AuditCheck, AuditInputs, CheckResult } from "./check.ts";
import { type AuditParts, runAudit } from "./run-audit.ts";

export interface Checked extends CheckResult {
  readonly verdict: AuditBlob;
  /** Its progress, such as `1/3`. */
  readonly steps: readonly string[];
}

export type AuditInputOptions = Pick<AuditInputs, "request"> & Partial<AuditInputs>;

/** The inputs of an audit of run_ml_job, with defaults. */
export function auditInputs(given: AuditInputOptions): AuditInputs {
  return {
    operation: "run_ml_job",
    accepted: new Set(),
    truncations: 2,
    quick: false,
    permutations: 19,
    ...given,
  };
}

export function auditContext(given: Partial<JobContext> = {}): JobContext {
  return {
    workers: 1,
    policy: { allowed: [] },
    report: () => undefined,
    signal: new AbortController().signal,
    ...given,
  };
}

export async function checked(
  check: AuditCheck,
  given: AuditInputOptions,
  context: Partial<JobContext> = {},
  faulty: Pick<AuditParts, "jobs"> = {},
): Promise<Checked> {
  const steps: string[] = [];
  const report: JobContext["report"] = (event) => {
    if (event.kind === "progress" && event.stage === check.name) steps.push(`${event.done}/${event.total}`);
    context.report?.(event);
  };
  let result: CheckResult | undefined;
  const kept: AuditCheck = {
    ...check,
    run: async (inputs, its) => (result = await check.run(inputs, its)),
  };
  const verdict = await runAudit(auditInputs(given), auditContext({ ...context, report }), {
    checks: [kept],
    ...faulty,
  });
  return { ...result!, verdict, steps };
}
