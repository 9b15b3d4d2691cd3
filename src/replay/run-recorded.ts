import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { requestedWindow } from "../contract/config/payload-schemas.ts";
import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { crashIn, namedFailure } from "../contract/problems/problem.ts";
import { JOBS } from "../jobs/run-job.ts";
import type { JobContext, JobRequest } from "../jobs/shared/job.ts";
import { type InputLocations, publicName } from "./find-inputs.ts";
import { otherSections, type RecordedFacts } from "./recorded-output.ts";

/** Codes of jobs that this version or this machine does not run, or whose blobs are invalid. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  "invalid_request",
  "unknown_model",
  "invalid_model_params",
  "too_large",
  "unreadable_blob",
  "invalid_data",
  "insufficient_history",
  "sparse_prices",
  "few_tickers",
  "all_failed",
  "no_forecast",
  "fit_failed",
  "device_unavailable",
  "diverged",
  "constant_target",
]);

/** Whether a job's error concerns its blobs, its config or the kind of machine, and not this replay. */
export function isRefusal(error: unknown): error is MucastError {
  return error instanceof MucastError && REFUSALS.has(error.code);
}

/** Whether a job's error says that it could not read a blob. */
export function isUnread(error: unknown): error is MucastError {
  return error instanceof MucastError && ["blob_not_found", "blob_unavailable"].includes(error.code);
}

const PROBLEM_TEXT = 2_000;

/** How a job ended without an output, because of its inputs or its config. */
interface FailedRun {
  readonly problem: { readonly code: string; readonly detail: string };
  readonly error: MucastError;
}

/**
 * Runs the job of an output in the work folder.
 * @param blobUrl BLOB_URL, possibly with its SAS, for inputs in that container.
 * @returns the path of the new output, or how the job ended if it is refused here or could not read an input.
 * @throws MucastError if the machine or the engine fails; canceled.
 */
export async function runRecorded(
  { facts, config, locations, blobUrl }: RecordedRun,
  context: JobContext,
  workFolder: string,
): Promise<{ readonly path: string } | FailedRun> {
  const { provenance, operation } = facts;
  const { start, end, learning_end } = provenance.requested_window ?? {};
  const job: JobRequest = {
    id: "replay",
    config,
    featureUrl: locations.feature,
    dataExtractorUrl: locations.data_extractor,
    blobUrl: workFolder,
    window: requestedWindow({
      start: start ?? undefined,
      end: end ?? undefined,
      learning_end: learning_end ?? undefined,
    }),
    tags: facts.tags,
    recorded: {
      featureUrl: provenance.feature_url,
      dataExtractorUrl: provenance.data_extractor_url,
      configSha256: provenance.config_sha256,
      blobUrl,
    },
  };
  try {
    const record = await JOBS[operation](job, {
      ...context,
      portable: context.portable ?? typeof provenance.kernel_level === "string",
      // Its warnings are in its document, which is compared.
      report: (event) => {
        if (event.kind === "progress") context.report(event);
      },
    });
    return { path: fileURLToPath(record.output_url) };
  } catch (error) {
    const crash = crashIn(error);
    if (crash !== undefined) {
      const message = `${namedFailure(crash)}; the replay lost every ticker, this one so, and there is nothing to compare: replay again`;
      throw new MucastError("engine_crashed", message, { ticker: crash.ticker });
    }
    if (!isRefusal(error) && !isUnread(error)) throw error;
    // A verdict contains no path of the machine.
    const detail = Object.values(locations).reduce(
      (text, path) => text.replaceAll(path, publicName(path)),
      error.message,
    );
    return { problem: { code: error.code, detail: detail.slice(0, PROBLEM_TEXT) }, error };
  }
}

interface RecordedRun {
  readonly facts: RecordedFacts;
  /** JSON text. */
  readonly config: string;
  readonly locations: InputLocations;
  readonly blobUrl: string | undefined;
}

/**
 * The config of the new run: the recorded section, with an empty object for each other section that the job was given, so that its
 * warnings are the same. If the output does not contain its config, the caller's config is used if it has the recorded digest. The
 * text may be one that the job refuses.
 */
export function replayConfig(
  facts: RecordedFacts,
  given: string | undefined,
): { readonly text: string } | { readonly reason: "config_missing" | "config_differs" } {
  const { config, config_sha256 } = facts.provenance;
  if (given !== undefined) {
    const digest = createHash("sha256").update(given).digest("hex");
    return digest === config_sha256 ? { text: given } : { reason: "config_differs" };
  }
  if (config === undefined || config === null) return { reason: "config_missing" };
  const section = facts.operation === "run_ml_job" ? "ML params" : "NN params";
  // Sections inside the recorded one are already empty objects.
  const others = otherSections(facts).filter((name) => name !== section && !name.startsWith(`${section}.`));
  const members = [...new Set(others)].map((name) => `${JSON.stringify(name)}:{}`);
  return { text: `{${[...members, `${JSON.stringify(section)}:${config}`].join(",")}}` };
}
