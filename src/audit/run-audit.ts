import { basename } from "node:path";
import { openBlob } from "../blob/open-blob.ts";
import type { AuditBlob, AuditCheckName } from "../contract/output/audit-blob.ts";
import type { JobContext } from "../jobs/shared/job.ts";
import { auditDocument, type CheckOutcome } from "./audit-document.ts";
import type { AuditCheck, AuditInputs } from "./check.ts";
import { CHECKS } from "./checks.ts";

/** Where an audit tells how far it is. */
export interface AuditProgress {
  /** A check begins. */
  readonly onCheck: (check: AuditCheckName, cost: string) => void;
  /** `done` of `total` units of the check that runs. */
  readonly onStep: (done: number, total: number) => void;
}

/**
 * Runs the checks one after the other, and puts what they found together.
 * @param checks by default all.
 * @throws MucastError of the blobs, the config and the job: then there is no verdict.
 */
export async function runAudit(
  inputs: AuditInputs,
  context: JobContext,
  { onCheck, onStep }: AuditProgress,
  checks: readonly AuditCheck[] = CHECKS,
): Promise<AuditBlob> {
  const digests = await readDigests(inputs, context);
  const outcomes: CheckOutcome[] = [];
  for (const check of checks) {
    const { name } = check;
    const cost = check.cost(inputs);
    onCheck(name, cost);
    outcomes.push({ name, cost, result: await check.run(inputs, { ...context, onStep }) });
  }
  return auditDocument(inputs, outcomes, digests);
}

type Input = AuditBlob["inputs"]["feature"];

async function readDigests(
  { request, previous }: AuditInputs,
  context: JobContext,
): Promise<Omit<AuditBlob["inputs"], "config_sha256">> {
  const digest = (location: string) => readDigest(location, request.blobUrl, context);
  const { featureUrl: feature, dataExtractorUrl: prices } = previous ?? {};
  return {
    feature: await digest(request.featureUrl),
    data_extractor: await digest(request.dataExtractorUrl),
    ...(feature === undefined ? {} : { previous_feature: await digest(feature) }),
    ...(prices === undefined ? {} : { previous_data_extractor: await digest(prices) }),
  };
}

/** Reads a blob to its end. */
async function readDigest(
  location: string,
  blobUrl: string | undefined,
  { policy, signal }: JobContext,
): Promise<Input> {
  const blob = await openBlob(location, policy, { signal, blobUrl });
  for await (const _ of blob.chunks) signal.throwIfAborted();
  return { url: /^https?:/.test(blob.name) ? blob.name : basename(blob.name), sha256: blob.digest() };
}
