import type { AuditCheckName } from "../contract/config/payload-schemas.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { AuditBlob } from "../contract/output/audit-blob.ts";
import { JOBS, type Jobs } from "../jobs/run-job.ts";
import type { JobContext } from "../jobs/shared/job.ts";
import { inWorkFolder } from "../jobs/shared/work-folder.ts";
import { auditDocument, type CheckOutcome } from "./audit-document.ts";
import { AuditedBlobs, type AuditInputs, type AuditRequest } from "./audit-inputs.ts";
import type { AuditCheck } from "./check.ts";
import { CHECKS } from "./checks.ts";
import { AuditedJob } from "./job/audited-job.ts";
import { type Prepare, PreparedPrices } from "./preparation/prepared-prices.ts";

/** The parts of an audit that differ from the default. */
export interface AuditParts {
  /** By default all. */
  readonly checks?: readonly AuditCheck[] | undefined;
  /** Called for each check before the first one starts, with its `cost`. */
  readonly onCheck?: ((check: AuditCheckName, cost: string) => void) | undefined;
  /** The functions under test; faulty ones are for tests. */
  readonly jobs?: Jobs | undefined;
  readonly prepare?: Prepare | undefined;
}

/**
 * Runs the checks one after the other and combines their results. `report` of the context gets the progress of each check, with its
 * name as the stage.
 * @throws MucastError of the blobs, the config and the job: then there is no verdict.
 */
export async function runAudit(
  audit: AuditRequest,
  context: JobContext,
  { checks = CHECKS, onCheck, jobs = JOBS, prepare }: AuditParts = {},
): Promise<AuditBlob> {
  const planned = checks.map((check) => {
    const others = checks.filter((one) => one !== check).map(({ name }) => name);
    return { check, name: check.name, cost: check.cost(audit, others) };
  });
  for (const { name, cost } of planned) onCheck?.(name, cost);
  return inWorkFolder(async (workFolder) => {
    const { csv } = audit;
    const prepared = csv && new PreparedPrices(csv, workFolder, context.signal, prepare);
    const blobs = new AuditedBlobs(context, audit.request.blobUrl);
    // `prepare` reads the CSV itself: a reading before and one after it show whether it changed.
    if (csv !== undefined) await blobs.read(csv.csvPath);
    const inputs = await withBlobs(audit, prepared);
    const job = new AuditedJob({ jobs, inputs, context, blobs, folder: workFolder });
    try {
      const outcomes: CheckOutcome[] = [];
      for (const { check, name, cost } of planned) {
        const onStep = (done: number, total: number) =>
          context.report({ kind: "progress", stage: name, done, total });
        const result = await check.run(inputs, { ...context, blobs, job, prepared, workFolder, onStep });
        outcomes.push({ name, cost, result });
      }
      return auditDocument(inputs, outcomes, await digestsOf(inputs, blobs), job.kernelLevel);
    } finally {
      job.close();
    }
  });
}

/** @throws MucastError of the CSV; invalid_request if there are neither blobs nor a CSV. */
async function withBlobs(audit: AuditRequest, prepared: PreparedPrices | undefined): Promise<AuditInputs> {
  const { featureUrl, dataExtractorUrl, ...rest } = audit.request;
  if (featureUrl !== undefined && dataExtractorUrl !== undefined) {
    return { ...audit, request: { ...rest, featureUrl, dataExtractorUrl } };
  }
  if (prepared === undefined) throw new MucastError("invalid_request", "an audit needs both blobs");
  const { featurePath, dataExtractorPath } = await prepared.whole();
  return {
    ...audit,
    request: { ...rest, featureUrl: featurePath, dataExtractorUrl: dataExtractorPath },
  };
}

async function digestsOf(
  { request, previous, csv }: AuditInputs,
  blobs: AuditedBlobs,
): Promise<Omit<AuditBlob["inputs"], "config_sha256">> {
  const { featureUrl: feature, dataExtractorUrl: prices } = previous ?? {};
  return {
    feature: await blobs.digest(request.featureUrl),
    data_extractor: await blobs.digest(request.dataExtractorUrl),
    ...(feature === undefined ? {} : { previous_feature: await blobs.digest(feature) }),
    ...(prices === undefined ? {} : { previous_data_extractor: await blobs.digest(prices) }),
    ...(csv === undefined ? {} : { prices: await blobs.read(csv.csvPath) }),
  };
}
