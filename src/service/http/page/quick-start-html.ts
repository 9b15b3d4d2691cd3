import { curlLine } from "./curl-line.ts";
import { type Html, html, prose } from "./html.ts";
import type { PageContext } from "./operation-html.ts";

/** From two files to a forecast, in lines that can be pasted into a shell one after the other. */
export function quickStartHtml({ origin, hasCredentials }: PageContext, payload: unknown): Html {
  const ask = (
    method: string,
    path: string,
    more: { body?: string; file?: string; isStream?: boolean } = {},
  ) => curlLine({ method, url: `${origin}${path}`, hasCredentials, ...more });
  const submit = ask("POST", "/v1/run_ml_job", { body: JSON.stringify(payload, null, 2) });
  const steps: readonly (readonly [string, string])[] = [
    [
      "Upload the two blobs that `mucast prepare` makes of a price CSV",
      ["feature_engine_demo.json", "data_extractor_demo.json"]
        .map((file) => ask("PUT", `/data/${file}`, { file }))
        .join("\n"),
    ],
    ["Hand in a job, and keep its id", `ID=$(${submit} | sed 's/^{"id":"\\([^"]*\\)".*/\\1/')`],
    ["See what it goes through, up to its end", ask("GET", "/v1/operations/$ID/events", { isStream: true })],
    ["Its result names the output", ask("GET", "/v1/operations/$ID")],
    ["The forecasts: mu, by ticker", ask("GET", "/data/ml_engine_$ID.json")],
  ];
  return html`<ol class="steps">${steps.map(
    ([what, lines]) => html`<li><p>${prose(what)}</p><pre class="curl"><code>${lines}</code></pre></li>`,
  )}</ol>`;
}
