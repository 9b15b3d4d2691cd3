import type { MucastClient } from "../../client/index.ts";

/** What an output records of its job. */
export interface RecordedRequest {
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  /** JSON text of the config; undefined if the output does not contain it. */
  readonly config: string | undefined;
}

/** Bytes to read of an output. A config has at most 32 KiB, and at most six times as many when escaped. */
const EDGE = 2 ** 18;

/**
 * Reads the beginning of an output, which contains its provenance.
 * @returns undefined for another document.
 * @throws MucastApiError not_found if the output is gone.
 */
export async function recordedRequest(
  client: MucastClient,
  outputName: string,
  { baseUrl, signal }: { readonly baseUrl: string; readonly signal: AbortSignal },
): Promise<RecordedRequest | undefined> {
  const read = async (range: string) =>
    provenanceIn(await (await client.getBlob(outputName, { range, signal })).text());
  // Outputs of 0.2.0 end with it.
  const found = (await read(`bytes=0-${EDGE - 1}`)) ?? (await read(`bytes=-${EDGE}`));
  if (found === undefined) return undefined;
  const section = outputName.startsWith("nn_") ? "NN params" : "ML params";
  return {
    featureUrl: absoluteUrl(found.feature_url, baseUrl),
    dataExtractorUrl: absoluteUrl(found.data_extractor_url, baseUrl),
    config: found.config === null ? undefined : await configText(section, found.config, found.config_sha256),
  };
}

interface Provenance {
  readonly feature_url: string;
  readonly data_extractor_url: string;
  /** JSON text of the job's own section. */
  readonly config: string | null;
  readonly config_sha256: string;
}

/** An object that has objects, but no deeper ones. Quotes inside a text are escaped, so the mark is no text. */
const PROVENANCE = /"provenance":(\{(?:"(?:[^"\\]|\\.)*"|[^"{}]|\{(?:"(?:[^"\\]|\\.)*"|[^"{}])*\})*\})/s;

/** The provenance in a part of an output. */
export function provenanceIn(part: string): Provenance | undefined {
  const [, object = "{}"] = PROVENANCE.exec(part) ?? [];
  const { feature_url, data_extractor_url, config, config_sha256 } = JSON.parse(
    object,
  ) as Partial<Provenance>;
  if (typeof feature_url !== "string" || typeof data_extractor_url !== "string") return undefined;
  return {
    feature_url,
    data_extractor_url,
    config: typeof config === "string" ? config : null,
    config_sha256: String(config_sha256),
  };
}

/** An output names a local input only by its file name; the service has it under its own URL. */
function absoluteUrl(recorded: string, baseUrl: string): string {
  return /^(?:https?|s3):\/\//.test(recorded) ? recorded : `${baseUrl}data/${recorded}`;
}

/**
 * The config with the recorded section: with the white space around the section that gives the recorded digest, if it has a usual
 * form, so that a verdict on the same config has the same digest.
 */
export async function configText(name: string, section: string, digest: string): Promise<string> {
  const key = JSON.stringify(name);
  const spellings = [
    `{${key}:${section}}`,
    `{${key}: ${section}}`,
    `{ ${key}: ${section} }`,
    `{\n  ${key}: ${section}\n}`,
    `{\n    ${key}: ${section}\n  }`,
    `{\n    ${key}: ${section}\n}`,
    `{\n\t${key}: ${section}\n}`,
  ];
  const texts = spellings.flatMap((text) => [text, `${text}\n`]);
  for (const text of texts) if ((await sha256(text)) === digest) return text;
  return texts[0]!;
}

/** In hexadecimal digits; undefined if the browser cannot compute digests, for example over plain http. */
async function sha256(text: string): Promise<string | undefined> {
  const digest = await globalThis.crypto.subtle?.digest("SHA-256", new TextEncoder().encode(text));
  if (digest === undefined) return undefined;
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The JSON text of a payload. @param more further members, as names and JSON texts. */
export function payloadOf(
  { featureUrl, dataExtractorUrl, config }: RecordedRequest,
  more: readonly (readonly [name: string, text: string])[] = [],
): string {
  const members = [
    `"feature_url": ${JSON.stringify(featureUrl)}`,
    `"data_extractor_url": ${JSON.stringify(dataExtractorUrl)}`,
    ...(config === undefined ? [] : [`"config": ${config.trim()}`]),
    ...more.map(([name, text]) => `${JSON.stringify(name)}: ${text}`),
  ];
  return `{\n  ${members.join(",\n  ")}\n}`;
}
