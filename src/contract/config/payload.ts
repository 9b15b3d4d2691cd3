import { type ErrorData, type Fault, fault, MucastError } from "../errors/errors.ts";
import { faultsOf, invalidRequest } from "../errors/faults.ts";
import { hasMoreValues } from "../json/bounded-json.ts";
import {
  canonicalJson,
  MAX_JSON_DEPTH,
  parseJson,
  rawNumbersOf,
  scanJson,
  withoutByteOrderMark,
} from "../json/json-text.ts";
import { parseDlSettings } from "./dl-settings.ts";
import { JOB_OPERATIONS, type Operation } from "./job-operations.ts";
import { parseMlSettings } from "./ml-settings.ts";
import { isObject, SECTION_KEYS } from "./parse-config.ts";
import {
  OPTION_SCHEMAS,
  PAYLOAD_SCHEMAS,
  type PayloadOptions,
  type PayloadUse,
  URL_MEMBERS,
  type UrlMember,
} from "./payload-schemas.ts";

/** A payload that passed every check that does not read a blob. */
export interface ParsedPayload {
  /** Empty if a replay takes it from the recorded output; the same applies to the next two. */
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  /** JSON text, byte for byte as the caller wrote it. */
  readonly config: string;
  /** The members besides these three, and for an audit or a preview its job. */
  readonly options: PayloadOptions;
  /** Name of the model or the network of the config; undefined for a replay. */
  readonly model: string | undefined;
  /** The same text for all spellings of a payload, to compare the bodies of one idempotency key. */
  readonly canonical: string;
}

export interface UrlFault {
  readonly message: string;
  /** Takes the place of the title and the advice of `url_not_allowed`. */
  readonly heading?: Pick<ErrorData, "title" | "advice">;
}

export interface PayloadChecks {
  readonly checkUrl?: (url: string, names: (typeof URL_MEMBERS)[UrlMember]) => UrlFault | undefined;
}

const ROOT = "payload";

/** Outside the config: keeps a small body from causing thousands of fault messages. */
const MAX_VALUES = 2_000;

/**
 * Reads the JSON text of a payload and checks its members, every URL, and the config as its job does. The config of a
 * replay is checked by its digest once the output is read.
 *
 * @throws MucastError with every fault in `data.faults`: `invalid_request`; or if only the config is at fault, the error of
 * `parseMlSettings` or `parseDlSettings`, or if URLs alone are, `url_not_allowed`. `too_large` without faults if the payload has more than
 * MAX_VALUES values.
 */
export function parsePayload(use: PayloadUse, text: string, { checkUrl }: PayloadChecks = {}): ParsedPayload {
  const body = withoutByteOrderMark(text);
  const members = new Map<string, string>();
  // The config is one level down.
  const duplicates = scanJson(body, ROOT, MAX_JSON_DEPTH + 1, members);
  const plain: unknown = JSON.parse(body);
  const payload = isObject(plain) ? plain : {};
  if (hasMoreValues(isObject(plain) ? { ...plain, config: undefined } : plain, MAX_VALUES)) {
    const message = `the payload has more than ${MAX_VALUES} values outside its config`;
    throw new MucastError("too_large", message, { path: ROOT, limit: MAX_VALUES });
  }
  const schema = PAYLOAD_SCHEMAS[use];
  const checked = schema.safeParse(plain);
  const shape = [
    ...duplicates.map(({ path }) => fault(path, "appears twice; keep one of them")),
    ...(checked.success ? [] : faultsOf(checked.error, schema, ROOT, plain)),
  ].map((found) => ({ ...found, path: found.path.replace(`${ROOT}.`, "") }));
  const urls = (Object.keys(URL_MEMBERS) as UrlMember[]).flatMap((path) => {
    const url = Object.hasOwn(schema.shape, path) ? payload[path] : "";
    const found = typeof url === "string" && url !== "" ? checkUrl?.(url, URL_MEMBERS[path]) : undefined;
    return found === undefined ? [] : [{ ...found, path }];
  });
  const config = isObject(payload.config) ? members.get("config")! : undefined;
  // The scan has already found the duplicates; a parse error for them would hide the other faults.
  const readable = config && duplicates.length > 0 ? JSON.stringify(rawNumbersOf(config)) : config;
  const read = readable === undefined ? {} : readConfig(use, payload.operation, readable);
  throwFaults(shape, urls, read.refused);
  const options = Object.keys(OPTION_SCHEMAS[use].shape).filter((name) => Object.hasOwn(payload, name));
  return {
    featureUrl: (payload.feature_url ?? "") as string,
    dataExtractorUrl: (payload.data_extractor_url ?? "") as string,
    config: config ?? "",
    options: { ...Object.fromEntries(options.map((name) => [name, payload[name]])), ...read.options },
    model: read.model,
    canonical: canonicalJson(rawNumbersOf(body)),
  };
}

function throwFaults(
  shape: readonly Fault[],
  urls: readonly (UrlFault & { readonly path: string })[],
  refused: MucastError | undefined,
): void {
  if (refused !== undefined && shape.length + urls.length === 0) throw refused;
  const ofUrls = urls.map(({ path, message }) => fault(path, message));
  const faults = [...shape, ...ofUrls, ...(refused === undefined ? [] : faultsIn(refused))];
  if (faults.length === 0) return;
  const error = invalidRequest(faults);
  if (urls.length < faults.length) throw error;
  const [first, ...rest] = urls.map(({ heading }) => heading);
  const isShared = rest.every((heading) => heading?.advice === first?.advice);
  throw new MucastError("url_not_allowed", error.message, { ...error.data, ...(isShared ? first : {}) });
}

interface ReadConfig {
  /** The error with which the job itself would refuse the config. */
  readonly refused?: MucastError;
  readonly options?: { readonly operation: Operation };
  readonly model?: string;
}

function readConfig(use: PayloadUse, given: unknown, text: string): ReadConfig {
  if (use === "replay") return {};
  try {
    const isJob = use === "run_ml_job" || use === "run_dl_job";
    const chosen = JOB_OPERATIONS.find((name) => name === given);
    const job = isJob ? use : findJob(text, chosen);
    const model =
      job === "run_ml_job"
        ? parseMlSettings(text).settings.model.name
        : parseDlSettings(text).settings.network.architecture;
    return isJob ? { model } : { model, options: { operation: job } };
  } catch (error) {
    if (error instanceof MucastError) return { refused: error };
    throw error;
  }
}

function faultsIn({ message, data }: MucastError): readonly Fault[] {
  const path = data.path ?? "config";
  const rest = message.startsWith(path) ? message.slice(path.length).replace(/^:? /, "") : message;
  return data.faults ?? [fault(path, rest)];
}

/** The jobs whose sections a config has, judged by its keys alone. @throws MucastError invalid_request if it is not JSON. */
export function operationsOf(text: string): Operation[] {
  const config = parseJson(text);
  return JOB_OPERATIONS.filter((job) => isObject(config) && Object.hasOwn(config, SECTION_KEYS[job][0]));
}

/**
 * The job of an audit or a preview: the one whose section the config has, or, if it has both, the given one.
 * @param given the member `operation`, or undefined.
 * @param path of that member, for a fault.
 * @throws MucastError invalid_request if the config is ambiguous, or lacks the section of the given job.
 */
export function findJob(config: string, given: Operation | undefined, path = "operation"): Operation {
  const held = operationsOf(config);
  const found = given === undefined && held.length < 2 ? held[0] : held.find((name) => name === given);
  if (found !== undefined) return found;
  if (held.length === 2) {
    const message = `must be ${JOB_OPERATIONS.join(" or ")}, because the config contains both sections`;
    throw invalidRequest([fault(path, message)]);
  }
  const message =
    held.length === 0
      ? 'has neither "ML params" nor "NN params"'
      : `has no section of ${JSON.stringify(given)}; it is one of ${held[0]}`;
  throw new MucastError("invalid_request", `config ${message}`, { path: "config" });
}
