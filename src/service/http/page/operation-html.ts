import { curlLine } from "../../../contract/curl-line.ts";
import type {
  OpenApiMedia,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiResponse,
} from "../openapi/document.ts";
import { EXAMPLE_NAMES } from "../openapi/examples.ts";
import { type Html, html, prose } from "./html.ts";
import type { ServiceAddress } from "./quick-start.ts";
import { membersHtml, type PageSchema, typeHtml } from "./schema-html.ts";

export interface PageOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

/** One operation: its description, a curl line, its parameters and its answers. */
export function operationHtml({ method, path, operation }: PageOperation, service: ServiceAddress): Html {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const body = requestBody && firstMedia(requestBody.content);
  return html`<section class="operation" id="${operationId}">
<h3><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></h3>
<p class="summary">${summary} <small><code>${operationId}</code>${scopeHtml(operation["x-scope"])}</small></p>
<p>${prose(description)}</p>
<pre class="curl"><code>${curlOf(method, path, body, service)}</code></pre>
${parametersHtml(parameters)}
${body && html`<h4>Body</h4>${membersHtml(body.schema as PageSchema)}`}
<h4>Responses</h4>
<div class="wide"><table><tbody>${Object.entries(responses).map(([status, response]) => answerHtml(status, response))}</tbody></table></div>
</section>`;
}

function scopeHtml(scope: OpenApiOperation["x-scope"]): Html {
  return scope === undefined ? html`, no authentication` : html`, scope <code>${scope}</code>`;
}

function curlOf(
  method: string,
  path: string,
  body: OpenApiMedia | undefined,
  service: ServiceAddress,
): string {
  const example = body?.examples?.example?.value;
  const upload = method === "put" ? EXAMPLE_NAMES[0] : undefined;
  const name = upload ?? "ml_engine_$ID.json";
  return curlLine({
    method: method.toUpperCase(),
    url: `${service.origin}${path.replace("{id}", "$ID").replace("{name}", name)}`,
    hasKey: service.hasCredentials,
    isStream: path.endsWith("/events"),
    ...(path === "/v1/prepare" ? { body: { file: "prices.csv" } } : {}),
    ...(upload === undefined ? {} : { body: { from: `${service.origin}/examples/${upload}` } }),
    ...(example === undefined
      ? {}
      : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(example, null, 2) }),
  });
}

function parametersHtml(parameters: readonly OpenApiParameter[]): Html | undefined {
  if (parameters.length === 0) return undefined;
  const rows = parameters.map(
    ({ name, in: part, required, description, schema }) =>
      html`<tr><td><code>${name}</code>${required ? "" : html` <small>optional</small>`}</td><td>${part}</td>
<td>${typeHtml(schema as PageSchema)}</td><td>${prose(description ?? "")}</td></tr>`,
  );
  return html`<h4>Parameters</h4>
<div class="wide"><table><thead><tr><th>name</th><th>in</th><th>type</th><th>description</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function answerHtml(status: string, { description, headers = {}, content }: OpenApiResponse): Html {
  const media = content && firstMedia(content);
  const names = Object.keys(headers).map((name) => html` <code>${name}</code>`);
  const example = status.startsWith("2") ? exampleText(media) : undefined;
  return html`<tr class="s${status[0]!}"><td><code>${status}</code></td>
<td>${prose(description)}${names.length > 0 ? html`<br><small>headers${names}</small>` : undefined}
${example === undefined ? undefined : html`<details><summary>example</summary><pre><code>${example}</code></pre></details>`}</td></tr>`;
}

function exampleText(media: OpenApiMedia | undefined): string | undefined {
  const value = media?.examples?.example?.value;
  return typeof value === "string" || value === undefined ? value : JSON.stringify(value, null, 2);
}

function firstMedia(content: Readonly<Record<string, OpenApiMedia>>): OpenApiMedia | undefined {
  return Object.values(content)[0];
}
