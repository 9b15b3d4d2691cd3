import { EXAMPLE_BLOBS, ML_PAYLOAD } from "../openapi/examples.ts";
import { EXAMPLE_NAMES } from "./example-routes.ts";
import { type Html, html, prose } from "./html.ts";

/** How to ask a service. */
export interface Asking {
  /** What comes before its paths. */
  readonly origin: string;
  /** Whether callers have to say who they are, by the variable MUCAST_KEY. */
  readonly hasCredentials: boolean;
}

const { config: CONFIG, ...URLS } = ML_PAYLOAD;

/** JSON with a line for each URL and one for the config. */
const PAYLOAD = `${JSON.stringify(URLS, null, 2).slice(0, -2)},\n  "config": ${JSON.stringify(CONFIG)}\n}`;

/** Lines for a POSIX shell that upload the two example blobs to a service, from itself. */
export function uploadLines({ origin, hasCredentials }: Asking): string[] {
  return EXAMPLE_NAMES.map((name) =>
    curlLine({
      method: "PUT",
      from: `${origin}/examples/${name}`,
      url: `${origin}/data/${name}`,
      hasCredentials,
    }),
  );
}

/** The line that then hands in a job on them. @param wait for its end, in seconds. */
export function submitLine({ origin, hasCredentials }: Asking, wait?: number): string {
  return curlLine({
    method: "POST",
    url: `${origin}/v1/run_ml_job`,
    body: PAYLOAD.replaceAll(EXAMPLE_BLOBS, origin),
    hasCredentials,
    ...(wait === undefined ? {} : { wait }),
  });
}

/** From two blobs to a forecast, in lines that can be pasted into a shell one after the other. */
export function quickStartHtml(asking: Asking): Html {
  const { origin, hasCredentials } = asking;
  const get = (path: string, isStream = false) =>
    curlLine({ method: "GET", url: `${origin}${path}`, hasCredentials, isStream });
  const steps: readonly (readonly [string, string])[] = [
    [
      "Upload two small blobs that the service has as an example; yours `mucast prepare` makes of a price CSV",
      uploadLines(asking).join("\n"),
    ],
    ["Hand in a job, and keep its id", `ID=$(${submitLine(asking)} | sed 's/^{"id":"\\([^"]*\\)".*/\\1/')`],
    ["See what it goes through, up to its end", get("/v1/operations/$ID/events", true)],
    ["Its result names the output", get("/v1/operations/$ID")],
    ["The forecasts: mu, by ticker", get("/data/ml_engine_$ID.json")],
  ];
  return html`<ol class="steps">${steps.map(
    ([what, lines]) => html`<li><p>${prose(what)}</p><pre class="curl"><code>${lines}</code></pre></li>`,
  )}</ol>`;
}

/** A request as the command line of curl, for a POSIX shell. */
export interface CurlRequest {
  readonly method: string;
  readonly url: string;
  /** Sent as it is, as JSON. */
  readonly body?: string;
  /** Uploads what this URL, open to anyone, answers. */
  readonly from?: string;
  /** Waits for the end of a job up to so many seconds. */
  readonly wait?: number;
  readonly hasCredentials?: boolean;
  /** Shows events as they come. */
  readonly isStream?: boolean;
}

export function curlLine(request: CurlRequest): string {
  const { method, url, body, from, wait, hasCredentials, isStream } = request;
  const words = ["curl", isStream ? "-sN" : "-s"];
  if (from !== undefined) words.unshift("curl", "-s", quoted(from), "|");
  if (from !== undefined) words.push("-T", "-");
  else if (method === "POST" && body === undefined) words.push("-X", "POST");
  // The variable is the shell's to fill in, so its quotes are double.
  if (hasCredentials) words.push("-H", '"Authorization: Bearer $MUCAST_KEY"');
  if (wait !== undefined) words.push("-H", `'Prefer: wait=${wait}'`);
  words.push(url.includes("$") ? `"${url}"` : quoted(url));
  if (body === undefined) return words.join(" ");
  return `${words.join(" ")} \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoted(body)}`;
}

function quoted(text: string): string {
  return /^[\w:/.@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
