import { join } from "node:path";
import { INPUT_FORMATS, type InputFormat } from "../contract/config/input-formats.ts";
import type { Operation, SubmittedOperation } from "../contract/config/job-operations.ts";
import type { PayloadOptions } from "../contract/config/payload-schemas.ts";
import { MucastError } from "../contract/errors/errors.ts";

/** The container job of each of the two jobs. */
const JOB_NAMES = {
  run_ml_job: "ml-worker-job",
  run_dl_job: "dl-job",
} as const satisfies Record<Operation, string>;

/** The prefix of each operation's output names. */
const OUTPUT_PREFIXES = {
  run_ml_job: "ml_engine",
  run_dl_job: "nn_engine",
  audit: "audit",
  replay: "replay",
} as const satisfies Record<SubmittedOperation, string>;

const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** @throws MucastError invalid_request if `id` is not 1 to 64 letters, digits, `_` or `-`. */
export function checkId(id: string, path = "OPERATION_ID"): string {
  if (ID.test(id)) return id;
  const value = id.slice(0, 100);
  const message = `${path} must be 1 to 64 letters, digits, "_" or "-", got ${JSON.stringify(value)}`;
  throw new MucastError("invalid_request", message, { path, value });
}

export function outputName(operation: SubmittedOperation, id: string): string {
  return `${OUTPUT_PREFIXES[operation]}_${checkId(id)}.json`;
}

const OUTPUT = new RegExp(`^(?:${Object.values(OUTPUT_PREFIXES).join("|")})_([A-Za-z0-9_-]{1,64})\\.json$`);

/** @returns the id in the name of an output; undefined for any other name. */
export function outputIdIn(name: string): string | undefined {
  return OUTPUT.exec(name)?.[1];
}

export function jobName(operation: Operation): string {
  return JOB_NAMES[operation];
}

/**
 * The job in whose container an operation runs, and whose name its executions carry: for an audit, the job that it examines; for a replay,
 * the one whose outputs are named like its own, `run_ml_job` for any other name.
 */
export function containerJob(operation: SubmittedOperation, options: PayloadOptions): Operation {
  switch (operation) {
    case "run_ml_job":
    case "run_dl_job":
      return operation;
    case "audit":
      return options.operation === "run_dl_job" ? "run_dl_job" : "run_ml_job";
    case "replay": {
      const name = String(options.output_url).split("?")[0]!.split("/").at(-1)!;
      return name.startsWith(`${OUTPUT_PREFIXES.run_dl_job}_`) ? "run_dl_job" : "run_ml_job";
    }
  }
}

/** The name of one execution of a job, such as `ml-worker-job-<suffix>`. */
export function executionName(operation: Operation, suffix: string): string {
  return `${JOB_NAMES[operation]}-${checkId(suffix, "execution suffix")}`;
}

/** Names of the two input blobs of `id`; other services of the portfolio write them as JSON. */
export function inputNames(id: string, format: InputFormat = "json"): { features: string; prices: string } {
  const checked = checkId(id, "id");
  return { features: `feature_engine_${checked}.${format}`, prices: `data_extractor_${checked}.${format}` };
}

const INPUT = new RegExp(
  `^(?:feature_engine|data_extractor)_[A-Za-z0-9_-]{1,64}\\.(?:${INPUT_FORMATS.join("|")})$`,
);

export function isInputName(name: string): boolean {
  return INPUT.test(name);
}

/** The media type of a blob, by its name or its key. */
export function mediaType(name: string): string {
  return name.endsWith(".parquet") ? "application/vnd.apache.parquet" : "application/json";
}

/**
 * The folder of one caller in a storage, with that caller's `data/` and `status/`; empty for the storage itself. It has only lower-case
 * letters, digits and a dash, so that it is one folder everywhere: on case-insensitive file systems, in blob names and in URLs.
 */
const SPACE = /^(?:key-[0-9a-f]{16}|sub-[0-9a-f]{64})$/;

/** @throws MucastError internal for a folder that is not a caller's space. */
export function checkSpace(space: string): string {
  if (space === "" || SPACE.test(space)) return space;
  throw new MucastError("internal", `${JSON.stringify(space.slice(0, 100))} is not the space of a caller`);
}

/** The space that a path relative to a storage begins with, such as `key-…` in `key-…/data/<name>`. */
export function spaceIn(path: string): string | undefined {
  const first = path.split("/")[0]!;
  return SPACE.test(first) ? first : undefined;
}

/** The BLOB_URL of a space in another storage; a query string, such as a SAS, stays. */
export function withSpace(blobUrl: string, space: string): string {
  if (checkSpace(space) === "") return blobUrl;
  if (!/^\w+:\/\//.test(blobUrl)) return join(blobUrl, space);
  const [bare, ...query] = blobUrl.split("?");
  return [`${bare!.replace(/\/$/, "")}/${space}`, ...query].join("?");
}
