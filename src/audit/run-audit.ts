import type { AuditBlob, AuditCheckName } from "../contract/output/audit-blob.ts";
import type { JobContext } from "../jobs/shared/job.ts";
import { openWorkFolder } from "../jobs/shared/work-folder.ts";
import { auditDocument, type CheckOutcome } from "./audit-document.ts";
import { AuditedBlobs } from "./audited-blobs.ts";
import type { AuditCheck, AuditInputs } from "./check.ts";
import { CHECKS } from "./checks.ts";
import { AuditedJob, JOBS, type Jobs } from "./job/audited-job.ts";

/** Which parts of an audit are other ones than usual. */
interface AuditParts {
  /** By default all. */
  readonly checks?: readonly AuditCheck[] | undefined;
  /** A check begins; `cost` is what it takes. */
  readonly onCheck?: ((check: AuditCheckName, cost: string) => void) | undefined;
  /** Those that are judged; faulty ones are for tests. */
  readonly jobs?: Jobs | undefined;
}

/**
 * Runs the checks one after the other, and puts what they found together. `report` of the context gets the progress of each
 * check, with its name as the stage.
 * @throws MucastError of the blobs, the config and the job: then there is no verdict.
 */
export async function runAudit(
  inputs: AuditInputs,
  context: JobContext,
  { checks = CHECKS, onCheck, jobs = JOBS }: AuditParts = {},
): Promise<AuditBlob> {
  const work = openWorkFolder();
  const blobs = new AuditedBlobs(context, inputs.request.blobUrl);
  const job = new AuditedJob({ jobs, inputs, context, blobs, folder: work.path });
  try {
    const outcomes: CheckOutcome[] = [];
    for (const check of checks) {
      const { name } = check;
      const others = checks.filter((one) => one !== check).map((one) => one.name);
      const cost = check.cost(inputs, others);
      onCheck?.(name, cost);
      const onStep = (done: number, total: number) =>
        context.report({ kind: "progress", stage: name, done, total });
      const result = await check.run(inputs, { ...context, blobs, job, workFolder: work.path, onStep });
      outcomes.push({ name, cost, result });
    }
    return auditDocument(inputs, outcomes, await digestsOf(inputs, blobs));
  } finally {
    job.close();
    work.remove();
  }
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
