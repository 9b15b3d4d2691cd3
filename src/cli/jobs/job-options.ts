import { closeSync, openSync, readSync } from "node:fs";
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import { withoutSignature } from "../../blob/policy.ts";
import { EXAMPLE_CONFIGS, exampleConfigText } from "../../contract/config/example-configs.ts";
import { LIMITS } from "../../contract/config/limits.ts";
import {
  requestedWindowSchema,
  tagsSchema,
  type WindowMembers,
} from "../../contract/config/payload-schemas.ts";
import {
  type ClusterEngine,
  ENGINE_VARIABLES,
  engineUrlFault,
  insecureFault,
} from "../../contract/engine-url.ts";
import { type Fault, MucastError } from "../../contract/errors/errors.ts";
import { faultsOf, invalidRequest } from "../../contract/errors/faults.ts";
import { printable } from "../../contract/errors/wording.ts";
import type { JobContext } from "../../jobs/shared/job.ts";
import { newestPair } from "../../outputs/find-outputs.ts";
import { namedFolder } from "../outputs/output-arguments.ts";
import { Reporter, type ReporterOptions } from "../terminal/reporter.ts";

export interface EngineFlags {
  readonly engine?: string;
  readonly engineInsecure?: boolean;
}

/** The flags of a job's window, for a data-extraction blob that does not have one. */
interface WindowFlags {
  readonly start?: string;
  readonly end?: string;
  readonly learningEnd?: string;
}

export interface ReportFlags extends EngineFlags {
  readonly workers?: string;
  /** For the commands that run a job. */
  readonly portable?: boolean;
  readonly log: "text" | "json";
  readonly quiet?: boolean;
}

/** The flags of the job commands and of validate, as commander gives them. */
export interface JobFlags extends ReportFlags, WindowFlags {
  readonly featureUrl?: string;
  readonly dataExtractorUrl?: string;
  readonly config?: string;
  readonly blobUrl?: string;
  /** For run_ml_job and run_dl_job, like the next one. */
  readonly report?: boolean;
  readonly tag?: readonly string[];
}

/** What a job may use of the machine, or of a cluster. */
interface JobResources extends Pick<JobContext, "workers" | "memoryBytes" | "cluster" | "clusterTasks"> {
  readonly workers: number;
  /** Bytes that all processes of a job may hold; undefined for 80 % of the machine's memory. */
  readonly memoryBytes: number | undefined;
}

interface JobInputs extends JobResources {
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  /** JSON text of the config. */
  readonly config: string;
  readonly blobUrl: string | undefined;
}

const INPUTS = [
  ["featureUrl", "--feature-url", "FEATURE_URL"],
  ["dataExtractorUrl", "--data-extractor-url", "DATA_EXTRACTOR_URL"],
  ["config", "--config", "CONFIG"],
] as const;

const MEMORY_VARIABLE = "MUCAST_MEMORY_BYTES";

export function withJobFlags(command: Command): Command {
  const inputs = command
    .option(
      "--feature-url <location>",
      "feature blob: a path, or a file:, https: or s3: URL; a folder or latest for the newest pair of blobs in it [env: FEATURE_URL]",
    )
    .option(
      "--data-extractor-url <location>",
      "data-extraction blob, likewise (default: of a folder, that of the pair) [env: DATA_EXTRACTOR_URL]",
    )
    .option("--config <file|json|name>", "a config: a file, JSON text or an example's name [env: CONFIG]")
    .option(
      "--blob-url <location>",
      "folder, Azure container or bucket of S3; the output goes to its data/ (default: beside the feature file) [env: BLOB_URL]",
    );
  return withReportFlags(inputs);
}

export function withWindowFlags(command: Command): Command {
  return command
    .option("--start <date>", "first date of the window, if the data-extraction blob does not say it")
    .option("--end <date>", "last date of the window, if the data-extraction blob does not say it")
    .option(
      "--learning-end <date>",
      "last date whose labels may be learned, if the data-extraction blob does not say it",
    );
}

/** The flags of the window as members of a payload. @throws MucastError invalid_request for a text that is not a date. */
export function windowMembers({ start, end, learningEnd }: WindowFlags): WindowMembers {
  const given = { start, end, learning_end: learningEnd };
  const members = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const parsed = requestedWindowSchema.safeParse(members);
  if (parsed.success) return parsed.data;
  throw invalidRequest(
    parsed.error.issues.map(({ path: [name] }) => {
      const text = JSON.stringify(String(members[String(name)]).slice(0, 100));
      return {
        path: `--${String(name).replace("_", "-")}`,
        message: `${text} is not a date; write YYYY-MM-DD`,
      };
    }),
  );
}

/** The flags --tag as a member of a payload. @throws MucastError invalid_request. */
export function tagMember({ tag }: Pick<JobFlags, "tag">): { readonly tags?: readonly string[] } {
  if (tag === undefined) return {};
  const parsed = tagsSchema.safeParse(tag);
  if (!parsed.success) throw invalidRequest(faultsOf(parsed.error, tagsSchema, "--tag", tag));
  return { tags: parsed.data };
}

/** Adds the flags of the commands that run a job. @param use what the command does with the cluster. */
export function withEngineFlags(
  command: Command,
  use = "compute on a Ray cluster, ray://<host>:<port>, instead of this machine",
): Command {
  return command
    .option("--engine <url>", `${use} [env: ${ENGINE_VARIABLES.url}]`)
    .option(
      "--engine-insecure",
      `accept a cluster on this machine without a token [env: ${ENGINE_VARIABLES.insecure}]`,
    );
}

export function withReportFlags(command: Command): Command {
  return command
    .option("--workers <n>", "number of parallel fits (default: one per core, or all slots of a cluster)")
    .addOption(
      new Option("--log <format>", "format of stderr").choices(["text", "json"] as const).default("text"),
    )
    .option("--quiet", "hide progress; warnings and errors are still shown");
}

/** The flags of a job, with the newest pair of blobs in place of a folder. */
export async function pairedFlags<F extends JobFlags>(flags: F, env: NodeJS.ProcessEnv): Promise<F> {
  const { featureUrl = env.FEATURE_URL, dataExtractorUrl = env.DATA_EXTRACTOR_URL || featureUrl } = flags;
  const [featured, priced] = [featureUrl, dataExtractorUrl].map((named) => named && namedFolder(named));
  if (!featured && !priced) return flags;
  const inputs = {
    ...(featured && { featureUrl: (await newestPair(featured)).features }),
    ...(priced && { dataExtractorUrl: (await newestPair(priced)).prices }),
  };
  const message = `inputs: ${Object.values(inputs).join(", ")}`;
  reporterOf(flags).write({ level: "info", message }, printable(message));
  return { ...flags, ...inputs };
}

/**
 * A flag takes precedence over its environment variable.
 * @param mayLack what may be missing, and is then empty: for a replay any of the three.
 * @throws MucastError invalid_request with every fault at once.
 */
export function jobInputs(
  flags: JobFlags,
  env: NodeJS.ProcessEnv,
  mayLack: "nothing" | "any" = "nothing",
): JobInputs {
  const faults: Fault[] = [];
  const [featureUrl, dataExtractorUrl, config] = INPUTS.map(([key, flag, variable]) => {
    const value = flags[key] ?? env[variable];
    if ((value === undefined || value.trim() === "") && mayLack === "nothing") {
      faults.push({ path: flag, message: `is required: give ${flag} or set ${variable}` });
    }
    return value ?? "";
  }) as [string, string, string];
  const resources = resourcesOf(flags, env, faults);
  if (faults.length > 0) throw invalidRequest(faults);
  return {
    featureUrl,
    dataExtractorUrl,
    config: config.trim() === "" ? "" : configText(config),
    blobUrl: flags.blobUrl ?? env.BLOB_URL,
    ...resources,
  };
}

export function jobResources(flags: ReportFlags, env: NodeJS.ProcessEnv): JobResources {
  const faults: Fault[] = [];
  const resources = resourcesOf(flags, env, faults);
  if (faults.length > 0) throw invalidRequest(faults);
  return resources;
}

function resourcesOf(flags: ReportFlags, env: NodeJS.ProcessEnv, faults: Fault[]): JobResources {
  const workers = flags.workers ?? String(availableParallelism());
  if (!/^[1-9]\d{0,3}$/.test(workers)) {
    faults.push({ path: "--workers", message: `must be an integer from 1 to 9999, got ${workers}` });
  }
  const memory = env[MEMORY_VARIABLE] || undefined;
  if (memory !== undefined && !/^[1-9]\d{0,15}$/.test(memory)) {
    faults.push({
      path: MEMORY_VARIABLE,
      message: `must be a number of bytes, got ${JSON.stringify(memory)}`,
    });
  }
  const cluster = clusterOf(flags, env, faults);
  return {
    workers: Number(workers),
    memoryBytes: memory === undefined ? undefined : Number(memory),
    cluster,
    clusterTasks: cluster === undefined || flags.workers === undefined ? undefined : Number(workers),
  };
}

/** The cluster that flags or environment name, if any. @throws MucastError invalid_request. */
export function engineOf(flags: EngineFlags, env: NodeJS.ProcessEnv): ClusterEngine | undefined {
  const faults: Fault[] = [];
  const cluster = clusterOf(flags, env, faults);
  if (faults.length > 0) throw invalidRequest(faults);
  return cluster;
}

function clusterOf(flags: EngineFlags, env: NodeJS.ProcessEnv, faults: Fault[]): ClusterEngine | undefined {
  const given = flags.engine ?? (env[ENGINE_VARIABLES.url] || undefined);
  const insecure = flags.engineInsecure ?? isInsecure(env, faults);
  if (given === undefined) {
    if (flags.engineInsecure)
      faults.push({ path: "--engine-insecure", message: "only allowed with --engine" });
    return undefined;
  }
  const path = flags.engine === undefined ? ENGINE_VARIABLES.url : "--engine";
  const url = given.trim();
  const message = engineUrlFault(url);
  if (message !== undefined) faults.push({ path, message });
  else if (insecure) {
    const fault = insecureFault(url);
    const name = flags.engineInsecure ? "--engine-insecure" : ENGINE_VARIABLES.insecure;
    if (fault !== undefined) faults.push({ path: name, message: fault });
  }
  return { url, insecure };
}

function isInsecure(env: NodeJS.ProcessEnv, faults: Fault[]): boolean {
  const text = env[ENGINE_VARIABLES.insecure]?.trim() || "false";
  if (text === "true" || text === "false") return text === "true";
  const message = `must be true or false, got ${JSON.stringify(text.slice(0, 100))}`;
  faults.push({ path: ENGINE_VARIABLES.insecure, message });
  return false;
}

/** What a command does with log lines about its cluster. */
export function noticeOf(reporter: Reporter): (line: string) => void {
  return (line) => reporter.write({ level: "info", engine: line }, printable(`engine: ${line}`));
}

export function reporterOf(
  { log, quiet = false }: ReportFlags,
  more: Pick<ReporterOptions, "tickersShown" | "workers"> = {},
): Reporter {
  return new Reporter({ format: log, quiet, stream: process.stderr, ...more });
}

const NO_CONFIG = `Name a file with a config, or an example: ${EXAMPLE_CONFIGS.map(({ name }) => name).join(", ")}.`;

/** The config's JSON text: the value itself if it starts like JSON, the example that it names, or the content of a file. */
export function configText(value: string): string {
  if (/^\s*[{["]/.test(value)) return value;
  const example = EXAMPLE_CONFIGS.find((known) => known.name === value);
  if (example !== undefined) return exampleConfigText(example);
  const name = withoutSignature(value);
  const bytes = configBytes(value, name);
  if (bytes.length <= LIMITS.configBytes) return bytes.toString("utf8");
  throw new MucastError("too_large", `${name} has more than the ${LIMITS.configBytes} bytes of a config`, {
    path: "--config",
    limit: LIMITS.configBytes,
    advice: NO_CONFIG,
  });
}

/** The file's content, up to one byte more than the limit of a config: a device never ends. */
function configBytes(path: string, name: string): Buffer {
  const most = LIMITS.configBytes + 1;
  const bytes = Buffer.alloc(most);
  let length = 0;
  try {
    const file = openSync(path, "r");
    try {
      for (let read = -1; read !== 0 && length < most; length += read) {
        read = readSync(file, bytes, length, most - length, null);
      }
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new MucastError(
      "invalid_request",
      `--config ${name} is neither JSON text nor a file that can be read (${reason})`,
      { path: "--config", value: name, advice: NO_CONFIG },
      { cause },
    );
  }
  return bytes.subarray(0, length);
}
