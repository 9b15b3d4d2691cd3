import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Operation } from "../contract/config/job-operations.ts";
import { requestedWindow } from "../contract/config/requested-window.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { rawNumbers } from "../contract/json/json-text.ts";
import type { ReplayBlob } from "../contract/output/replay-blob.ts";
import { crashIn, type Failure, namedFailure } from "../contract/problems/problem.ts";
import { JOBS } from "../jobs/run-job.ts";
import type { JobContext, JobRequest } from "../jobs/shared/job.ts";
import type { FoundInputs } from "./find-inputs.ts";
import { publicName } from "./find-inputs.ts";
import type { RecordedFacts } from "./recorded-output.ts";
import { isRefusal, isUnread } from "./refusals.ts";

const PROBLEM_TEXT = 2_000;

/** The job of an output, for the new run. */
interface RecordedRun {
  readonly facts: RecordedFacts;
  /** JSON text. */
  readonly config: string;
  /** Both have a location. */
  readonly inputs: FoundInputs;
  /** BLOB_URL, possibly with its SAS, for inputs in that container. */
  readonly blobUrl: string | undefined;
}

/** A job that ended without an output, possibly because of its inputs or its config. */
export interface FailedRun {
  readonly problem: NonNullable<ReplayBlob["problem"]>;
  readonly error: MucastError;
  /** Whether it could not read an input that existed before. */
  readonly isUnread: boolean;
}

/**
 * Runs the job of an output in the work folder.
 * @returns the path of the new output, or how the job ended if it is refused here or could not read an input.
 * @throws MucastError if the machine or the engine fails; canceled.
 */
export async function runRecorded(
  { facts, config, inputs, blobUrl }: RecordedRun,
  context: JobContext,
  workFolder: string,
): Promise<{ readonly path: string } | FailedRun> {
  const { provenance, operation } = facts;
  const job: JobRequest = {
    id: "replay",
    config,
    featureUrl: inputs.feature.location!,
    dataExtractorUrl: inputs.data_extractor.location!,
    blobUrl: workFolder,
    window: recordedWindow(provenance.requested_window),
    tags: facts.tags,
    recorded: {
      featureUrl: provenance.feature_url,
      dataExtractorUrl: provenance.data_extractor_url,
      configSha256: provenance.config_sha256,
      blobUrl,
    },
  };
  try {
    const record = await JOBS[operation](job, quiet(context, typeof provenance.kernel_level === "string"));
    return { path: fileURLToPath(record.output_url) };
  } catch (error) {
    const crash = crashIn(error);
    if (crash !== undefined) throw crashError(crash);
    if (!isRefusal(error) && !isUnread(error)) throw error;
    const problem = { code: error.code, detail: withoutPaths(error.message, job).slice(0, PROBLEM_TEXT) };
    return { problem, error, isUnread: isUnread(error) };
  }
}

function recordedWindow(recorded: RecordedFacts["provenance"]["requested_window"]): JobRequest["window"] {
  const { start, end, learning_end } = recorded ?? {};
  return requestedWindow({
    start: start ?? undefined,
    end: end ?? undefined,
    learning_end: learning_end ?? undefined,
  });
}

/** A run that lost tickers to a crash says nothing about the output. */
function crashError(crash: Failure): MucastError {
  const message = `${namedFailure(crash)}; the replay lost every ticker, this one so, and there is nothing to compare: replay again`;
  return new MucastError("engine_crashed", message, { ticker: crash.ticker });
}

/** A verdict contains no path of the machine. */
function withoutPaths(message: string, { featureUrl, dataExtractorUrl }: JobRequest): string {
  return [featureUrl, dataExtractorUrl].reduce(
    (text, location) => text.replaceAll(location, publicName(location)),
    message,
  );
}

/**
 * The warnings of the new run are in its document, which is compared, so they are not reported.
 * @param isPinned whether the recorded job had its kernels pinned.
 */
function quiet(context: JobContext, isPinned: boolean): JobContext {
  return {
    ...context,
    portable: context.portable ?? isPinned,
    report: (event) => {
      if (event.kind === "progress") context.report(event);
    },
  };
}

/** The config that a replay runs, or the reason why there is none. */
type ReplayConfig = { readonly text: string } | { readonly reason: "config_missing" | "config_differs" };

const SECTIONS: Readonly<Record<Operation, string>> = { run_ml_job: "ML params", run_dl_job: "NN params" };

/**
 * The config of the new run: the recorded section, with an empty object for each other section that the job was given, so that its
 * warnings are the same. If the output does not contain its config, the caller's config is used if it has the recorded digest. The
 * text may be one that the job refuses.
 */
export function replayConfig(facts: RecordedFacts, given: string | undefined): ReplayConfig {
  const { config, config_sha256: recorded } = facts.provenance;
  if (given !== undefined) {
    const digest = createHash("sha256").update(given).digest("hex");
    if (digest !== recorded) return { reason: "config_differs" };
    return { text: facts.intervalsWithoutMethod ? withSplit(given, facts.operation) : given };
  }
  if (config === undefined || config === null) return { reason: "config_missing" };
  const text = withOtherSections(config, facts);
  return { text: facts.intervalsWithoutMethod ? withSplit(text, facts.operation) : text };
}

/** Sections inside the recorded one are already empty objects. */
function withOtherSections(section: string, { operation, otherSections }: RecordedFacts): string {
  const own = SECTIONS[operation];
  const inside = `${own}.`;
  const beside = otherSections.filter((name) => name !== own && !name.startsWith(inside));
  const members = [...new Set(beside)].map((name) => `${JSON.stringify(name)}:{}`);
  return `{${[...members, `${JSON.stringify(own)}:${section}`].join(",")}}`;
}

/** Before there were methods, intervals were `split`. */
function withSplit(text: string, operation: Operation): string {
  const config = jsonOf(text);
  const section = memberOf(config, SECTIONS[operation]);
  const settings = operation === "run_ml_job" ? section : memberOf(section, "Dot prediction");
  const intervals = memberOf(settings, "intervals");
  if (!isObject(settings) || !isObject(intervals) || Object.hasOwn(intervals, "method")) return text;
  settings.intervals = { ...intervals, method: "split" };
  return JSON.stringify(config);
}

/** Undefined for a text that the job will refuse. */
function jsonOf(text: string): unknown {
  try {
    return rawNumbers(text);
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
