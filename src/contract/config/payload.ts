import { z } from "zod";
import { type Fault, MucastError } from "../errors/errors.ts";
import { faultsOf, invalidRequest } from "../errors/faults.ts";
import { scanJson } from "../json/json-scan.ts";
import { canonicalJson, DEEPEST_JSON, rawNumbersOf, withoutByteOrderMark } from "../json/json-text.ts";
import { parseDlSettings } from "./dl-settings.ts";
import type { Operation } from "./job-operations.ts";
import { parseMlSettings } from "./ml-settings.ts";

/** The payload of both jobs. In a job container the three fields are FEATURE_URL, DATA_EXTRACTOR_URL and CONFIG. */
export const payloadSchema = z
  .strictObject({
    feature_url: z.string().min(1).describe("The feature blob: {blob_url}/data/feature_engine_<id>.json"),
    data_extractor_url: z
      .string()
      .min(1)
      .describe("The data-extraction blob: {blob_url}/data/data_extractor_<id>.json"),
    config: z.looseObject({}).describe("Config of run_ml_job or run_dl_job; at most 32 KiB as JSON text."),
  })
  .meta({ id: "Payload", title: "Payload of run_ml_job and run_dl_job" });

/** A payload that passed every check that reads no blob. */
export interface ParsedPayload {
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  /** JSON text, byte for byte as the caller wrote it. */
  readonly config: string;
  /** The same text for all spellings of a payload, to compare the bodies of one idempotency key. */
  readonly canonical: string;
}

export interface PayloadChecks {
  /** The fault of a blob's URL; undefined where the URL is allowed. parsePayload adds the path. */
  readonly checkUrl?: (url: string) => Pick<Fault, "message" | "suggestion"> | undefined;
}

const URL_FIELDS = ["feature_url", "data_extractor_url"] as const;

/** The beginning of paths during the scan; the paths of faults do not have it. */
const ROOT = "payload";

/**
 * Reads the JSON text of a payload and checks the three fields, both URLs, and the config as its job does.
 *
 * @throws MucastError with every fault in `data.faults`: `invalid_request`; or where the config alone is at fault, the
 *   error of `parseMlSettings` or `parseDlSettings` (`unknown_model`, `invalid_model_params`,
 *   `device_unavailable`, `too_large`), or where URLs alone are, `url_not_allowed`.
 */
export function parsePayload(operation: Operation, text: string, checks: PayloadChecks = {}): ParsedPayload {
  const body = withoutByteOrderMark(text);
  const members = new Map<string, string>();
  // The config is one level down.
  const duplicates = scanJson(body, ROOT, DEEPEST_JSON + 1, members).map(asTwice);
  const plain: unknown = JSON.parse(body);
  const payload = isObject(plain) ? plain : {};
  const config = isObject(payload.config) ? members.get("config")! : undefined;
  const shape = [...duplicates, ...shapeFaults(plain)];
  const urls = urlFaults(payload, checks);
  const refused = config === undefined ? undefined : configError(operation, config, duplicates.length > 0);
  throwWhereWrong(shape, urls, refused);
  return {
    featureUrl: payload.feature_url as string,
    dataExtractorUrl: payload.data_extractor_url as string,
    config: config!,
    canonical: canonicalJson(rawNumbersOf(body)),
  };
}

function throwWhereWrong(shape: Fault[], urls: Fault[], refused: MucastError | undefined): void {
  const faults = [...shape, ...urls, ...(refused === undefined ? [] : faultsIn(refused))];
  if (faults.length === 0) return;
  if (refused !== undefined && shape.length + urls.length === 0) throw refused;
  const error = invalidRequest(faults);
  if (urls.length < faults.length) throw error;
  throw new MucastError("url_not_allowed", error.message, error.data);
}

function asTwice({ path }: Fault): Fault {
  return { path: withoutRoot(path), message: "stands twice; keep one of them" };
}

function shapeFaults(plain: unknown): Fault[] {
  const checked = payloadSchema.safeParse(plain);
  if (checked.success) return [];
  const faults = faultsOf(checked.error, payloadSchema, ROOT, plain);
  return faults.map((fault) => ({ ...fault, path: withoutRoot(fault.path) }));
}

function urlFaults(payload: Record<string, unknown>, { checkUrl }: PayloadChecks): Fault[] {
  return URL_FIELDS.flatMap((field) => {
    const url = payload[field];
    const found = typeof url === "string" && url !== "" ? checkUrl?.(url) : undefined;
    return found === undefined ? [] : [{ ...found, path: field }];
  });
}

const READ_CONFIG: Readonly<Record<Operation, (text: string) => unknown>> = {
  run_ml_job: parseMlSettings,
  run_dl_job: parseDlSettings,
};

/** The error with which the job itself would refuse the config. */
function configError(operation: Operation, config: string, hasDuplicates: boolean): MucastError | undefined {
  // The scan has found the duplicates already; as text they would hide the other faults.
  const text = hasDuplicates ? JSON.stringify(rawNumbersOf(config)) : config;
  try {
    READ_CONFIG[operation](text);
    return undefined;
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
}

function faultsIn({ message, data }: MucastError): readonly Fault[] {
  if (data.faults !== undefined) return data.faults;
  const path = data.path ?? "config";
  return [
    { path, message: message.startsWith(path) ? message.slice(path.length).replace(/^:? /, "") : message },
  ];
}

function withoutRoot(path: string): string {
  return path.startsWith(`${ROOT}.`) ? path.slice(ROOT.length + 1) : path;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
