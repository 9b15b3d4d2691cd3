import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { ERROR_TABLE } from "../../../contract/errors/error-codes.ts";
import { counted } from "../../../contract/errors/wording.ts";
import { type LimitUnit, type Settings, settingNames, settingsSchema } from "../../../contract/settings.ts";
import type { OpenApiDocument } from "../openapi/document.ts";
import { type Html, html, prose } from "./html.ts";
import { operationHtml, type PageOperation } from "./operation-html.ts";
import { quickStartHtml, type ServiceAddress } from "./quick-start.ts";
import { type PageSchema, schemaHtml } from "./schema-html.ts";

/** Four folders up, both from src and from the compiled package. */
const STYLE = readFileSync(new URL("../../../../web/docs.css", import.meta.url), "utf8");
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

/** The page runs no script and loads no resource. The policy allows its one style by its hash. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** A page with every operation, error, limit and schema of the service, made from its OpenAPI document. */
export function docsPage(document: OpenApiDocument, settings: Settings): string {
  const service: ServiceAddress = {
    origin: document.servers[0]!.url,
    hasCredentials: settings.auth !== "none",
  };
  const shown = pageOperations(document);
  const { title, version, description } = document.info;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} ${version}</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<nav aria-label="Contents">
<div><p class="name"><a href="#top">${title}</a> <small>${version}</small></p>
<ul><li><a href="#start">Quick start</a></li></ul></div>
${document.tags.map((tag) => navHtml(tag.name, shown))}
<div><p>Reference</p>
<ul><li><a href="#errors">Errors</a></li><li><a href="#limits">Limits</a></li><li><a href="#schemas">Schemas</a></li><li><a href="openapi.json">openapi.json</a></li></ul></div>
</nav>
<main id="top">
<h1>${title}</h1>
${description.split("\n\n").map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
<h2 id="start">Quick start</h2>
${service.hasCredentials ? html`<p>First set the variable <code>MUCAST_API_KEY</code> to your key or token.</p>` : undefined}
${quickStartHtml(service)}
${document.tags.map(
  (tag) => html`<h2 id="tag-${tag.name}">${tag.name}</h2><p>${tag.description}</p>
${tagged(tag.name, shown).map((operation) => operationHtml(operation, service))}`,
)}
${errorsHtml()}
${limitsHtml(settings)}
<h2 id="schemas">Schemas</h2>
${Object.entries(document.components.schemas).map(([name, schema]) => schemaHtml(name, schema as PageSchema))}
</main>
</body>
</html>
`;
  return page.html;
}

function pageOperations({ paths }: OpenApiDocument): PageOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
}

function tagged(tag: string, shown: readonly PageOperation[]): PageOperation[] {
  return shown.filter(({ operation }) => operation.tags.includes(tag));
}

function navHtml(tag: string, shown: readonly PageOperation[]): Html {
  return html`<div><p>${tag}</p>
<ul>${tagged(tag, shown).map(({ operation: { operationId } }) => html`<li><a href="#${operationId}">${operationId}</a></li>`)}</ul></div>`;
}

function errorsHtml(): Html {
  const rows = Object.entries(ERROR_TABLE).map(
    ([code, { status, title, advice }]) =>
      html`<tr><td><code>${code}</code></td><td>${status}</td><td>${title}</td><td>${prose(advice)}</td></tr>`,
  );
  return html`<h2 id="errors">Errors</h2>
<p>Every error is a problem with one of these codes. If a job fails, the operation's <code>error</code> holds the problem, and requests for the operation still return 200.</p>
<div class="wide"><table><thead><tr><th>code</th><th>status</th><th>title</th><th>what to do</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

const IN_UNIT: Readonly<Record<LimitUnit, (value: number) => string>> = {
  bytes: (value) => counted(value, "byte"),
  seconds: (value) => `${value} s`,
  days: (value) => counted(value, "day"),
  count: String,
};

/** The settings that are marked as limits, in their order. */
function limitsHtml(settings: Settings): Html {
  const rows = Object.entries(settingsSchema.shape).flatMap(([key, field]) => {
    const unit = settingNames.get(field)?.limit;
    if (unit === undefined) return [];
    const value = IN_UNIT[unit](settings[key as keyof Settings] as number);
    return html`<tr><td><code>${key}</code></td><td>${value}</td><td>${prose(field.description!)}</td></tr>`;
  });
  return html`<h2 id="limits">Limits</h2>
<p>The limits of this service.</p>
<div class="wide"><table><thead><tr><th>setting</th><th>value</th><th>description</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}
