import type { AuditCheckName } from "../contract/config/payload-schemas.ts";
import type { AuditBlob } from "../contract/output/audit-blob.ts";
import { JOBS, type Jobs } from "../jobs/run-job.ts";
import type { JobContext } from "../jobs/shared/job.ts";
import { inWorkFolder } from "../jobs/shared/work-folder.ts";
import { auditDocument, type CheckOutcome } from "./audit-document.ts";
import { AuditedBlobs, type AuditInputs } from "./audit-inputs.ts";
import type { AuditCheck } from "./check.ts";
import { CHECKS } from "./checks.ts";
import { AuditedJob } from "./job/audited-job.ts";

/** The parts of an audit that differ from the default. */
export interface AuditParts {
  /** By default all. */
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
export async function runAudit(
  inputs: AuditInputs,
  context: JobContext,
  { checks = CHECKS, onCheck, jobs = JOBS }: AuditParts = {},
): Promise<AuditBlob> {
  const planned = checks.map((check) => {
    const others = checks.filter((one) => one !== check).map(({ name }) => name);
    return { check, name: check.name, cost: check.cost(inputs, others) };
  });
  for (const { name, cost } of planned) onCheck?.(name, cost);
  return inWorkFolder(async (workFolder) => {
    const blobs = new AuditedBlobs(context, inputs.request.blobUrl);
    const job = new AuditedJob({ jobs, inputs, context, blobs, folder: workFolder });
    const outcomes: CheckOutcome[] = [];
    for (const { check, name, cost } of planned) {
      const onStep = (done: number, total: number) =>
        context.report({ kind: "progress", stage: name, done, total });
      const result = await check.run(inputs, { ...context, blobs, job, workFolder, onStep });
      outcomes.push({ name, cost, result });
    }
    return auditDocument(inputs, outcomes, await digestsOf(inputs, blobs), job.kernelLevel);
  });
}

async function digestsOf(
  { request, previous }: AuditInputs,
  blobs: AuditedBlobs,
): Promise<Omit<AuditBlob["inputs"], "config_sha256">> {
  const { featureUrl: feature, dataExtractorUrl: prices } = previous ?? {};
  return {
    feature: await blobs.digest(request.featureUrl),
    data_extractor: await blobs.digest(request.dataExtractorUrl),
    ...(feature === undefined ? {} : { previous_feature: await blobs.digest(feature) }),
    ...(prices === undefined ? {} : { previous_data_extractor: await blobs.digest(prices) }),
  };
}
