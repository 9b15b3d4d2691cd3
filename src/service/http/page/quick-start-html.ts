import { curlLine } from "./curl-line.ts";
import { type Html, html, prose } from "./html.ts";
import { type Asking, submitLine, uploadLines } from "./quick-start.ts";

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
