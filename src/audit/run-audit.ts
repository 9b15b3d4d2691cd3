import { findJob } from "../contract/config/payload.ts";
import {
  AUDIT_CHECKS,
  AUDIT_DEFAULTS,
  type AuditCheckName,
  type AuditOptions,
  requestedWindow,
} from "../contract/config/payload-schemas.ts";
import type { AuditBlob } from "../contract/output/audit-blob.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { JOBS, type Jobs } from "../jobs/run-job.ts";
import { type JobContext, type JobRequest, withMemoryGuard } from "../jobs/shared/job.ts";
import { openResult } from "../jobs/shared/job-output.ts";
import { timed } from "../jobs/shared/timings.ts";
import { inWorkFolder } from "../jobs/shared/work-folder.ts";
import { auditDocument, type CheckOutcome } from "./audit-document.ts";
import { AuditedBlobs } from "./audited-blobs.ts";
import type { AuditCheck, AuditInputs } from "./check.ts";
import { foresight } from "./foresight/foresight.ts";
import { AuditedJob } from "./job/audited-job.ts";
import { restatement } from "./restatement/restatement.ts";
import { skill } from "./skill/skill.ts";
import { truncation } from "./truncation/truncation.ts";

/** Every check of an audit, in the order in which they run. */
export const CHECKS: readonly AuditCheck[] = [truncation, restatement, foresight, skill];

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

export interface AuditParts {
  readonly checks?: readonly AuditCheck[] | undefined;
  /** Called for each check before the first one starts, with its `cost`. */
  readonly onCheck?: ((check: AuditCheckName, cost: string) => void) | undefined;
  /** The jobs under test; faulty ones are for tests. */
  readonly jobs?: Jobs | undefined;
}

/**
 * Runs the checks one after the other and combines their results. `report` of the context gets the progress of each check, with its
 * name as the stage.
 * @throws MucastError of the blobs, the config and the job: then there is no verdict.
 */
export function runAudit(
  inputs: AuditInputs,
  context: JobContext,
  { checks = CHECKS, onCheck, jobs = JOBS }: AuditParts = {},
): Promise<AuditBlob> {
  const { request, previous = {} } = inputs;
  const names = checks.map(({ name }) => name);
  const planned = checks.map((check) => {
    const others = names.filter((name) => name !== check.name);
    return { check, name: check.name, cost: check.cost(inputs, others) };
  });
  for (const { name, cost } of planned) onCheck?.(name, cost);
  return inWorkFolder(async (workFolder) => {
    const blobs = new AuditedBlobs(context, request.blobUrl, workFolder);
    const job = new AuditedJob({ jobs, inputs, context, blobs, folder: workFolder });
    const outcomes: CheckOutcome[] = [];
    for (const { check, name, cost } of planned) {
      const onStep = (done: number, total: number) =>
        context.report({ kind: "progress", stage: name, done, total });
      const result = await check.run(inputs, { ...context, blobs, job, workFolder, onStep });
      outcomes.push({ name, cost, result });
    }
    const { featureUrl, dataExtractorUrl } = previous;
    const digests = {
      feature: await blobs.digest(request.featureUrl),
      data_extractor: await blobs.digest(request.dataExtractorUrl),
      ...(featureUrl === undefined ? {} : { previous_feature: await blobs.digest(featureUrl) }),
      ...(dataExtractorUrl === undefined
        ? {}
        : { previous_data_extractor: await blobs.digest(dataExtractorUrl) }),
    };
    return auditDocument(inputs, outcomes, digests, job.kernelLevel);
  });
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
    // The times and stages of an audit are those of its checks, not of the jobs that they run.
    const checks = CHECKS.filter(({ name }) => names.includes(name)).map((check): AuditCheck => {
      const run: AuditCheck["run"] = (...given) => timed(guarded, check.name, () => check.run(...given));
      return { ...check, run };
    });
    const stages: readonly string[] = AUDIT_CHECKS;
    const report: JobContext["report"] = (event) => {
      if (event.kind !== "progress" || stages.includes(event.stage)) guarded.report(event);
    };
    const verdict = await runAudit(inputs, { ...guarded, report, onTiming: undefined }, { checks });
    return blob.write(JSON.stringify(verdict), guarded);
  });
}
