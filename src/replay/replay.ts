import { containerJob } from "../blob/names.ts";
import type { ReplayOptions } from "../contract/config/payload-schemas.ts";
import { boundedCopy } from "../contract/json/bounded-json.ts";
import { REPLAY_REASONS, type ReplayBlob, type ReplayReason } from "../contract/output/replay-blob.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { type JobContext, type JobRequest, withMemoryGuard } from "../jobs/shared/job.ts";
import { openResult } from "../jobs/shared/job-output.ts";
import { inWorkFolder } from "../jobs/shared/work-folder.ts";
import { compareOutputs, type Found, replayDocument } from "./compare-outputs.ts";
import { MAX_QUOTED } from "./differences.ts";
import type { Reading } from "./find-inputs.ts";
import { type FoundInputs, findInputs, missingInputs, otherInputs } from "./find-inputs.ts";
import { reasonOf } from "./likely-reason.ts";
import { openRecorded, type RecordedFacts, type RecordedOutput } from "./recorded-output.ts";
import { type FailedRun, replayConfig, runRecorded } from "./run-recorded.ts";

export interface ReplayRequest {
  /** The name of the verdict. */
  readonly id: string;
  /** The output: a path, a file: URL or an https URL. */
  readonly outputUrl: string;
  /** Replaces the recorded inputs. */
  readonly featureUrl?: string | undefined;
  readonly dataExtractorUrl?: string | undefined;
  /** JSON text of the config, for an output that does not record it. */
  readonly config?: string | undefined;
  /** BLOB_URL, possibly with its SAS; for blobs in that container. */
  readonly blobUrl?: string | undefined;
}

/**
 * Runs the job of an output again in a temporary folder, and compares the new document with the recorded one. Blobs with other
 * digests are not run.
 *
 * @returns the verdict, even if the output differs or cannot be replayed.
 * @throws MucastError if the output cannot be read, or the machine or the engine fails; canceled.
 */
export async function replayOutput(request: ReplayRequest, context: JobContext): Promise<ReplayBlob> {
  return inWorkFolder(async (workFolder) => {
    const reading = { ...context, blobUrl: request.blobUrl };
    const recorded = await openRecorded(request.outputUrl, reading, workFolder);
    try {
      return replayDocument(request.id, recorded, await replayed(request, context, recorded, workFolder));
    } finally {
      await recorded.file.close();
    }
  });
}

async function replayed(
  request: ReplayRequest,
  context: JobContext,
  { facts, schema, file }: RecordedOutput,
  workFolder: string,
): Promise<Found> {
  const reading = { ...context, blobUrl: request.blobUrl };
  if (facts === undefined) {
    const shown = JSON.stringify(boundedCopy(schema ?? null, MAX_QUOTED) ?? null);
    return ended("another_schema", `its schema is ${shown}, or its provenance names no inputs`);
  }
  const found = await findInputs(facts, request, reading);
  const inputs = { feature: found.feature.shown, data_extractor: found.data_extractor.shown };
  const missing = missingInputs(found);
  if (missing !== undefined) return ended("inputs_gone", missing, { inputs });
  const others = await otherInputs(found, reading, workFolder);
  if (others !== undefined)
    return ended("inputs", `nothing was run: ${others.message}`, { inputs: others.inputs });
  const config = replayConfig(facts, request.config);
  if ("reason" in config) {
    const { config_sha256 } = facts.provenance;
    return ended(config.reason, `the job's config had the SHA-256 ${config_sha256}`, { inputs });
  }
  const run = { facts, config: config.text, inputs: found, blobUrl: request.blobUrl };
  const result = await runRecorded(run, context, workFolder);
  if ("problem" in result)
    return failedVerdict(result, facts, await findInputs(facts, request, reading), reading, workFolder);
  return { inputs, ...(await compareOutputs(facts, file, result.path)) };
}

const MAX_REASON = 300;

/**
 * The verdict if the job of the output ended with a problem.
 * @param now the inputs, looked up again afterwards.
 * @throws the job's error if it could not read an existing input.
 */
async function failedVerdict(
  { problem, error, isUnread }: FailedRun,
  { provenance }: RecordedFacts,
  now: FoundInputs,
  reading: Reading,
  workFolder: string,
): Promise<Found> {
  const inputs = { feature: now.feature.shown, data_extractor: now.data_extractor.shown };
  const missing = missingInputs(now);
  if (missing !== undefined)
    return ended("inputs_gone", `${missing}; it went while the replay ran`, { inputs, problem });
  const others = await otherInputs(now, reading, workFolder);
  if (others !== undefined) {
    const message = `${others.message}; it was changed while the replay ran`;
    return ended("inputs", message, { inputs: others.inputs, problem });
  }
  if (isUnread) throw error;
  const version = provenance.versions.mucast ?? "an unknown version";
  const message = `the output is of mucast ${version}, and its job ends here with ${problem.code}: ${problem.detail}`;
  return ended("job_refused", message.slice(0, MAX_REASON), { inputs, problem });
}

function ended(code: ReplayReason, message: string, more: Partial<ReplayBlob> = {}): Found {
  return { verdict: REPLAY_REASONS[code].verdict, reason: reasonOf(code, message), ...more };
}

/**
 * A replay as an operation of a service: it writes its verdict to `replay_<id>.json`, even if the output differs or cannot be
 * replayed.
 * @param request inputs and config are empty to use those of the output.
 * @throws MucastError like replayOutput; then it writes no blob.
 */
export function runReplayJob(
  { id, blobUrl, featureUrl, dataExtractorUrl, config }: JobRequest,
  options: ReplayOptions,
  context: JobContext,
): Promise<ResultRecord> {
  return withMemoryGuard(context, async (guarded) => {
    const outputUrl = options.output_url;
    const place = { id, blobUrl, featureUrl: featureUrl || outputUrl };
    const blob = await openResult("replay", containerJob("replay", options), place, guarded);
    const request = {
      id,
      outputUrl,
      featureUrl: featureUrl || undefined,
      dataExtractorUrl: dataExtractorUrl || undefined,
      config: config || undefined,
      blobUrl,
    };
    const verdict = await replayOutput(request, quiet(guarded, options));
    return blob.write(JSON.stringify(verdict), guarded);
  });
}

/** The replayed job writes to a scratch folder, which does not end the replay. */
function quiet(context: JobContext, { portable }: ReplayOptions): JobContext {
  const report: JobContext["report"] = (event) => {
    if (event.kind !== "progress" || event.stage !== "write") context.report(event);
  };
  return { ...context, portable, report };
}
