import { createReadStream } from "node:fs";
import { availableParallelism } from "node:os";
import { withoutSignature } from "../blob/policy.ts";
import { EXAMPLE_CONFIGS, exampleConfigText } from "../contract/config/example-configs.ts";
import { LIMITS } from "../contract/config/limits.ts";
import {
  type ClusterEngine,
  ENGINE_VARIABLES,
  engineUrlFault,
  insecureFault,
} from "../contract/engine-url.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { invalidRequest, show } from "../contract/errors/faults.ts";
import { causeOf } from "../contract/errors/system-error.ts";
import { printable } from "../contract/errors/wording.ts";
import type { JobContext } from "../jobs/shared/job.ts";
import { type FlagsOf, type JOB_OPTIONS, type REPORT_OPTIONS, refusal } from "./command.ts";
import { inputLocations } from "./locations.ts";
import { Reporter, type ReporterOptions } from "./terminal/reporter.ts";
import { untilSignal } from "./terminal/signals.ts";

type JobFlags = FlagsOf<typeof JOB_OPTIONS>;
type EngineFlags = Pick<JobFlags, "engine" | "engine_insecure">;
type InputFlags = Pick<JobFlags, "feature_url" | "data_extractor_url" | "config" | "blob_url">;
type ReportFlags = FlagsOf<typeof REPORT_OPTIONS>;

/**
 * What a job reads and where it writes. A flag takes precedence over its variable.
 * @param mayLack whether the first three may be missing, as for a replay; they are then empty.
 * @throws MucastError invalid_request that names every missing input; of a folder without a pair of blobs.
 */
export async function jobInputs(flags: InputFlags, reporter: Reporter, mayLack = false) {
  const { FEATURE_URL, DATA_EXTRACTOR_URL, CONFIG, BLOB_URL } = process.env;
  const named = [flags.feature_url ?? FEATURE_URL, flags.data_extractor_url ?? DATA_EXTRACTOR_URL] as const;
  const { features = "", prices = "" } = await inputLocations(...named);
  if (features !== (named[0] ?? "") || prices !== (named[1] ?? "")) {
    const message = `inputs: ${features}, ${prices}`;
    reporter.write({ level: "info", message }, printable(message));
  }
  const config = flags.config ?? CONFIG ?? "";
  const required = { FEATURE_URL: features, DATA_EXTRACTOR_URL: prices, CONFIG: config };
  const faults = Object.entries(required).flatMap(([variable, value]) => {
    const path = `--${variable.toLowerCase().replaceAll("_", "-")}`;
    const message = `is required: give ${path} or set ${variable}`;
    return value.trim() === "" ? [{ path, message }] : [];
  });
  if (faults.length > 0 && !mayLack) throw invalidRequest(faults);
  return {
    featureUrl: features,
    dataExtractorUrl: prices,
    config: config.trim() === "" ? "" : await configText(config),
    blobUrl: flags.blob_url ?? BLOB_URL,
  };
}

/** What a job may use of the machine, or of a cluster. */
export function jobResources(flags: ReportFlags & Partial<EngineFlags>, env = process.env) {
  const workers = flags.workers ?? String(availableParallelism());
  if (!/^[1-9]\d{0,3}$/.test(workers)) {
    throw refusal("--workers", `must be an integer from 1 to 9999, got ${workers}`);
  }
  const memory = env.MUCAST_MEMORY_BYTES || undefined;
  if (memory !== undefined && !/^[1-9]\d{0,15}$/.test(memory)) {
    throw refusal("MUCAST_MEMORY_BYTES", `must be a number of bytes, got ${show(memory)}`);
  }
  const cluster = engineOf(flags, env);
  return {
    workers: Number(workers),
    /** Bytes that all processes of a job may hold; undefined for 80 % of the machine's memory. */
    memoryBytes: memory === undefined ? undefined : Number(memory),
    cluster,
    clusterTasks: cluster === undefined || flags.workers === undefined ? undefined : Number(workers),
  };
}

/** The cluster that flags or environment name, if any. @throws MucastError invalid_request. */
export function engineOf(flags: Partial<EngineFlags>, env = process.env): ClusterEngine | undefined {
  const variables = ENGINE_VARIABLES;
  const text = env[variables.insecure]?.trim() || "false";
  if (!/^(true|false)$/.test(text))
    throw refusal(variables.insecure, `must be true or false, got ${show(text)}`);
  const insecure = flags.engine_insecure ?? text === "true";
  const url = flags.engine ?? (env[variables.url]?.trim() || undefined);
  if (url === undefined) {
    if (flags.engine_insecure) throw refusal("--engine-insecure", "only allowed with --engine");
    return undefined;
  }
  const urlFault = engineUrlFault(url);
  if (urlFault !== undefined)
    throw refusal(flags.engine === undefined ? variables.url : "--engine", urlFault);
  const fault = insecure ? insecureFault(url) : undefined;
  if (fault === undefined) return { url, insecure };
  throw refusal(flags.engine_insecure ? "--engine-insecure" : variables.insecure, fault);
}

/** The config's JSON text: the value itself if it starts like JSON, the example that it names, or the content of a file. */
export async function configText(value: string): Promise<string> {
  if (/^\s*[{["]/.test(value)) return value;
  const example = EXAMPLE_CONFIGS.find(({ name }) => name === value);
  if (example !== undefined) return exampleConfigText(example);
  const name = withoutSignature(value);
  const advice = `Name a file with a config, or an example: ${EXAMPLE_CONFIGS.map((known) => known.name).join(", ")}.`;
  let bytes: Buffer;
  try {
    // A device never ends.
    bytes = Buffer.concat(await createReadStream(value, { end: LIMITS.configBytes }).toArray());
  } catch (cause) {
    const message = `--config ${name} is neither JSON text nor a file that can be read (${causeOf(cause)})`;
    throw new MucastError("invalid_request", message, { path: "--config", value: name, advice }, { cause });
  }
  if (bytes.length <= LIMITS.configBytes) return bytes.toString("utf8");
  const message = `${name} has more than the ${LIMITS.configBytes} bytes of a config`;
  throw new MucastError("too_large", message, { path: "--config", limit: LIMITS.configBytes, advice });
}

/** Runs what a command does with a reporter on stderr, until a signal cancels it. */
export async function withReporter<T>(
  { log, quiet }: Omit<ReportFlags, "workers">,
  more: Pick<ReporterOptions, "tickersShown" | "workers">,
  run: (reporter: Reporter, context: Pick<JobContext, "report" | "notice" | "signal">) => Promise<T>,
): Promise<T> {
  const reporter = new Reporter({ format: log, quiet: quiet === true, stream: process.stderr, ...more });
  const notice = (line: string) =>
    reporter.write({ level: "info", engine: line }, printable(`engine: ${line}`));
  try {
    return await untilSignal((signal) => run(reporter, { report: reporter.report, notice, signal }));
  } finally {
    reporter.finish();
  }
}
