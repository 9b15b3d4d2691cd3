import { z } from "zod";
import type { Operation } from "../api/operation-view.ts";
import { type Fault, MucastError } from "../errors/errors.ts";
import { faultsOf, invalidRequest } from "../errors/faults.ts";
import { scanJson } from "../json/json-scan.ts";
import { canonicalJson, DEEPEST_JSON, rawNumbersOf, withoutByteOrderMark } from "../json/json-text.ts";
import { parseDlSettings } from "./dl-settings.ts";
import { parseMlSettings } from "./ml-settings.ts";

/** What both jobs take. In a job container the three are FEATURE_URL, DATA_EXTRACTOR_URL and CONFIG. */
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

/** A payload in which nothing is wrong that can be told without reading a blob. */
export interface ParsedPayload {
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  /** JSON text, byte for byte the caller's own. */
  readonly config: string;
  /** The same for all spellings of the same payload: to compare bodies of one idempotency key. */
  readonly canonical: string;
}

export interface PayloadChecks {
  /** What is wrong with the URL of a blob; its path is set here. */
  readonly checkUrl?: (url: string) => Pick<Fault, "message" | "suggestion"> | undefined;
}

const URL_FIELDS = ["feature_url", "data_extractor_url"] as const;

/** What paths begin with while scanning; the fields of a payload stand without it. */
const ROOT = "payload";

/**
 * Reads the JSON text of a payload and checks it whole: the three fields, both URLs, and the config as its job does.
 *
 * @throws MucastError with every fault at once in `data.faults`: `invalid_request`, or where the config alone is at
 *   fault what `parseMlSettings` or `parseDlSettings` throw (`unknown_model`, `invalid_model_params`,
 *   `device_unavailable`, `too_large`), or where URLs alone are, `url_not_allowed`.
 */
export function parsePayload(operation: Operation, text: string, checks: PayloadChecks = {}): ParsedPayload {
  const body = withoutByteOrderMark(text);
  const members = new Map<string, string>();
  // One level more than a config, which stands inside.
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

/** What the job's own reading of its config says. */
function configError(operation: Operation, config: string, hasDuplicates: boolean): MucastError | undefined {
  // Duplicates are told already, and would hide the rest.
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
