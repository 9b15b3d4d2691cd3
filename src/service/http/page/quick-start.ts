import { EXAMPLE_BLOBS, EXAMPLE_NAMES, ML_PAYLOAD } from "../openapi/examples.ts";
import { type Html, html, prose } from "./html.ts";

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
      from: `${origin}/examples/${name}`,
      url: `${origin}/data/${name}`,
      hasCredentials,
    }),
  );
}

/** A command that submits a job on those blobs. @param wait seconds that the answer may wait for the end of the job. */
export function submitLine({ origin, hasCredentials }: ServiceAddress, wait?: number): string {
  return curlLine({
    method: "POST",
    url: `${origin}/v1/run_ml_job`,
    body: PAYLOAD.replaceAll(EXAMPLE_BLOBS, origin),
    hasCredentials,
    ...(wait === undefined ? {} : { wait }),
  });
}

/** The steps from two blobs to a forecast, as commands that a reader can paste into a shell one after the other. */
export function quickStartHtml(service: ServiceAddress): Html {
  const { origin, hasCredentials } = service;
  const get = (path: string, isStream = false) =>
    curlLine({ method: "GET", url: `${origin}${path}`, hasCredentials, isStream });
  const steps: readonly (readonly [string, string])[] = [
    [
      "Upload the two example blobs of the service. To make your own from a price CSV, use `mucast prepare`.",
      uploadLines(service).join("\n"),
    ],
    ["Submit a job and keep its id.", `ID=$(${submitLine(service)} | sed 's/^{"id":"\\([^"]*\\)".*/\\1/')`],
    ["Follow its events until it ends.", get("/v1/operations/$ID/events", true)],
    ["Get its result, which names the output.", get("/v1/operations/$ID")],
    ["Get the forecasts: `mu` by ticker.", get("/data/ml_engine_$ID.json")],
  ];
  return html`<ol class="steps">${steps.map(
    ([what, lines]) => html`<li><p>${prose(what)}</p><pre class="curl"><code>${lines}</code></pre></li>`,
  )}</ol>`;
}

interface CurlRequest {
  readonly method: string;
  readonly url: string;
  /** JSON text. */
  readonly body?: string;
  /** A file of the reader, which the command sends unchanged. */
  readonly file?: string;
  /** URL that needs no credentials; the command uploads its content. */
  readonly from?: string;
  /** Seconds that the answer may wait for the end of the job. */
  readonly wait?: number;
  readonly hasCredentials?: boolean;
  /** Makes curl print each event when it arrives. */
  readonly isStream?: boolean;
}

/** A request as a curl command for a POSIX shell. */
export function curlLine(request: CurlRequest): string {
  const { method, url, body, file, from, wait, hasCredentials, isStream } = request;
  const words = ["curl", isStream ? "-sN" : "-s"];
  if (from !== undefined) words.unshift("curl", "-s", quoted(from), "|");
  if (from !== undefined) words.push("-T", "-");
  else if (file !== undefined) words.push("--data-binary", `@${file}`);
  else if (method === "POST" && body === undefined) words.push("-X", "POST");
  // Double quotes, so that the shell expands the variable.
  if (hasCredentials) words.push("-H", '"Authorization: Bearer $MUCAST_API_KEY"');
  if (wait !== undefined) words.push("-H", `'Prefer: wait=${wait}'`);
  words.push(url.includes("$") ? `"${url}"` : quoted(url));
  if (body === undefined) return words.join(" ");
  return `${words.join(" ")} \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoted(body)}`;
}

function quoted(text: string): string {
  return /^[\w:/.@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
