import { containerJob } from "../blob/names.ts";
import type { ReplayOptions } from "../contract/config/payload-schemas.ts";
import { boundedCopy } from "../contract/json/bounded-json.ts";
import {
  REPLAY_REASONS,
  REPLAY_SCHEMA_NAME,
  type ReplayBlob,
  type ReplayReason,
} from "../contract/output/replay-blob.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { type JobContext, type JobRequest, withMemoryGuard } from "../jobs/shared/job.ts";
import { openResult } from "../jobs/shared/job-output.ts";
import { inWorkFolder } from "../jobs/shared/work-folder.ts";
import { compareOutputs, type Found } from "./compare-outputs.ts";
import { MAX_QUOTED } from "./differences.ts";
import { findInputs, publicName } from "./find-inputs.ts";
import { reasonOf } from "./likely-reason.ts";
import { openRecorded, type RecordedOutput } from "./recorded-output.ts";
import { isUnread, replayConfig, runRecorded } from "./run-recorded.ts";

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
export function replayOutput(request: ReplayRequest, context: JobContext): Promise<ReplayBlob> {
  return inWorkFolder(async (workFolder) => {
    const reading = { ...context, blobUrl: request.blobUrl };
    const recorded = await openRecorded(request.outputUrl, reading, workFolder);
    return replayDocument(request.id, recorded, await findVerdict(request, context, recorded, workFolder));
  });
}

async function findVerdict(
  request: ReplayRequest,
  context: JobContext,
  recorded: RecordedOutput,
  workFolder: string,
): Promise<Found> {
  const reading = { ...context, blobUrl: request.blobUrl };
  const { facts, members } = recorded;
  if (facts === undefined) {
    const shown = JSON.stringify(boundedCopy(members.schema ?? null, MAX_QUOTED) ?? null);
    return ended("another_schema", `its schema is ${shown}, or its provenance names no inputs`);
  }
  const found = await findInputs(facts, request, reading, workFolder);
  const { inputs } = found;
  if ("code" in found) {
    const { code, message } = found;
    return ended(code, code === "inputs" ? `nothing was run: ${message}` : message, { inputs });
  }
  const config = replayConfig(facts, request.config);
  if ("reason" in config) {
    const { config_sha256 } = facts.provenance;
    return ended(config.reason, `the job's config had the SHA-256 ${config_sha256}`, { inputs });
  }
  const run = { facts, config: config.text, locations: found.locations, blobUrl: request.blobUrl };
  const result = await runRecorded(run, context, workFolder);
  if ("path" in result) {
    const replayed = { path: result.path, name: "the replayed output" };
    return { inputs, ...(await compareOutputs(facts, recorded, replayed)) };
  }
  const now = await findInputs(facts, request, reading, workFolder);
  const more = { inputs: now.inputs, problem: result.problem };
  if ("code" in now) {
    const how = now.code === "inputs" ? "it was changed" : "it went";
    return ended(now.code, `${now.message}; ${how} while the replay ran`, more);
  }
  if (isUnread(result.error)) throw result.error;
  const version = facts.provenance.versions.mucast ?? "an unknown version";
  const message = `the output is of mucast ${version}, and its job ends here with ${result.problem.code}: ${result.problem.detail}`;
  return ended("job_refused", message.slice(0, MAX_REASON), more);
}

const MAX_REASON = 300;

function ended(code: ReplayReason, message: string, more: Partial<ReplayBlob> = {}): Found {
  return { verdict: REPLAY_REASONS[code].verdict, reason: reasonOf(code, message), ...more };
}

/** The document of the verdict, with members in the order of its schema. */
function replayDocument(
  id: string,
  { name, sha256, facts, members }: RecordedOutput,
  found: Found,
): ReplayBlob {
  const { verdict, reason, compared, differences, inputs, problem } = found;
  const textOf = (value: unknown) => (typeof value === "string" ? value.slice(0, MAX_QUOTED.text) : null);
  return {
    schema: REPLAY_SCHEMA_NAME,
    id,
    verdict,
    ...(reason && { reason }),
    output: {
      url: publicName(name),
      sha256,
      operation: facts?.operation ?? null,
      id: textOf(members.id),
      created_at: textOf(members.created_at),
    },
    ...(compared && { compared }),
    ...(differences && { differences }),
    lacks: found.lacks ?? [],
    ...(inputs && { inputs }),
    versions: found.versions ?? [],
    machine: found.machine ?? [],
    ...(problem && { problem }),
  };
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
    const { output_url: outputUrl, portable } = options;
    const place = { id, blobUrl, featureUrl: featureUrl || outputUrl };
    const blob = await openResult("replay", containerJob("replay", options), place, guarded);
    const request = {
      ...{ id, outputUrl, blobUrl },
      featureUrl: featureUrl || undefined,
      dataExtractorUrl: dataExtractorUrl || undefined,
      config: config || undefined,
    };
    // The replayed job writes to a scratch folder, which does not end the replay.
    const report: JobContext["report"] = (event) => {
      if (event.kind !== "progress" || event.stage !== "write") guarded.report(event);
    };
    const verdict = await replayOutput(request, { ...guarded, portable, report });
    return blob.write(JSON.stringify(verdict), guarded);
  });
}
