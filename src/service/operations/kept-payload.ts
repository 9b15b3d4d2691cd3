import { withoutSignature } from "../../blob/policy.ts";
import {
  JOB_OPERATIONS,
  type Operation,
  type SubmittedOperation,
} from "../../contract/config/job-operations.ts";
import { ownSection, SECTION_KEYS } from "../../contract/config/parse-config.ts";
import type { ParsedPayload } from "../../contract/config/payload.ts";
import { URL_MEMBERS } from "../../contract/config/payload-schemas.ts";

type Payload = Pick<ParsedPayload, "featureUrl" | "dataExtractorUrl" | "config" | "options">;

/**
 * The payload that the service keeps after an operation has ended, so that its caller can submit it again. It has no secrets: no query
 * of a URL, no sections of other services, and no config that contains a signature.
 * @returns JSON text. A replay reads its config from the output, so it has none.
 */
export function keptPayload(operation: SubmittedOperation, payload: Payload): string {
  const { featureUrl, dataExtractorUrl, config, options } = payload;
  const job = JOB_OPERATIONS.find((name) => name === (options.operation ?? operation));
  const kept = job === undefined ? undefined : keptConfig(config, job);
  const members = [
    ...Object.entries({ feature_url: featureUrl, data_extractor_url: dataExtractorUrl })
      .filter(([, url]) => url !== "")
      .map(([name, url]) => [name, JSON.stringify(withoutQuery(url))]),
    ...(kept === undefined ? [] : [["config", kept]]),
    ...Object.entries(options).map(([name, value]) => [
      name,
      JSON.stringify(Object.hasOwn(URL_MEMBERS, name) ? withoutQuery(String(value)) : value),
    ]),
  ];
  return `{\n${members.map(([name, text]) => `  ${JSON.stringify(name)}: ${text}`).join(",\n")}\n}`;
}

/** As the caller wrote it if the job's own section is all it has, so that its digest stays the same. */
function keptConfig(config: string, job: Operation): string | undefined {
  const own = ownSection(config, job);
  const isWhole = Object.keys(JSON.parse(config)).length === 1 && config.includes(own);
  const text = isWhole ? config : `{${JSON.stringify(SECTION_KEYS[job][0])}: ${own}}`;
  const decoded = JSON.stringify(JSON.parse(text));
  return [text, decoded].some((each) => withoutSignature(each) !== each) ? undefined : text;
}

function withoutQuery(url: string): string {
  return url.split(/[?#]/)[0]!;
}
