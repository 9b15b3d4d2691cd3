import { curlLine } from "../../../contract/curl-line.ts";
import { EXAMPLE_BLOBS, EXAMPLE_NAMES, ML_PAYLOAD } from "../openapi/examples.ts";

/** What a curl command needs to know about a service. */
export interface ServiceAddress {
  /** The part of its URLs before the path. */
  readonly origin: string;
  /** Whether requests need a key or token, which the commands take from the variable MUCAST_API_KEY. */
  readonly hasCredentials: boolean;
}

const { config: CONFIG, ...URLS } = ML_PAYLOAD;

/** The example payload as JSON, with one line for each URL and one for the config. */
const PAYLOAD = `${JSON.stringify(URLS, null, 2).slice(0, -2)},\n  "config": ${JSON.stringify(CONFIG)}\n}`;

/** Commands for a POSIX shell that download the two example blobs from a service and upload them to it. */
export function uploadLines({ origin, hasCredentials }: ServiceAddress): string[] {
  return EXAMPLE_NAMES.map((name) =>
    curlLine({
      method: "PUT",
      url: `${origin}/data/${name}`,
      hasKey: hasCredentials,
      body: { from: `${origin}/examples/${name}` },
    }),
  );
}

/** A command that submits a job on those blobs. @param wait seconds that the answer may wait for the end of the job. */
export function submitLine({ origin, hasCredentials }: ServiceAddress, wait?: number): string {
  return curlLine({
    method: "POST",
    url: `${origin}/v1/run_ml_job`,
    headers: {
      "Content-Type": "application/json",
      ...(wait === undefined ? {} : { Prefer: `wait=${wait}` }),
    },
    hasKey: hasCredentials,
    body: PAYLOAD.replaceAll(EXAMPLE_BLOBS, origin),
  });
}

/** The steps from two blobs to a forecast, in Markdown, as commands that a reader can paste into a shell one after the other. */
export function quickStart(service: ServiceAddress): string {
  const { origin, hasCredentials } = service;
  const get = (path: string, isStream = false) =>
    curlLine({ method: "GET", url: `${origin}${path}`, hasKey: hasCredentials, isStream });
  const steps: readonly (readonly [string, string])[] = [
    [
      "Upload the two example blobs of the service. To make your own from a price CSV, use `mucast prepare`.",
      uploadLines(service).join("\n"),
    ],
    ["Submit a job and keep its id.", `ID=$(${submitLine(service)} | sed 's/^{"id":"\\([^"]*\\)".*/\\1/')`],
    ["Follow its events until it ends.", get("/v1/operations/$ID/events", true)],
    ["Get its result, which names the output.", get("/v1/operations/$ID")],
    ["Get the output.", `${get("/data/ml_engine_$ID.json")} > output.json`],
  ];
  const key = hasCredentials ? ["First set the variable `MUCAST_API_KEY` to your key or token."] : [];
  const texts = steps.map(([what, lines]) => `${what}\n\n\`\`\`sh\n${lines}\n\`\`\``);
  return section("Quick start", [...key, ...texts].join("\n\n"));
}

/** A part of the document's description that a reader opens: HTML, as Markdown allows. The blank lines make the inside Markdown again. */
export function section(title: string, text: string): string {
  return `<details>\n<summary>${title}</summary>\n\n${text}\n\n</details>`;
}
