import { MUCAST_VERSION } from "../../../contract/version.ts";
import { html } from "./html.ts";
import { DOCS_SCRIPT, DOCS_STYLE } from "./swagger-files.ts";
import type { WebFiles } from "./web-files.ts";

/**
 * The page runs only the service's own scripts, and makes requests to no other origin. Swagger UI draws its icons from `data:` URLs,
 * and sets the style of some elements in their HTML.
 */
export const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * The page `/docs`: Swagger UI on the OpenAPI document of the service, with forms that send requests. Its URLs are relative, so that a
 * proxy may serve it below a path.
 */
export function docsPage({ version }: WebFiles): string {
  const url = (name: string) => `web/${version}/${name}`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>mucast ${MUCAST_VERSION}</title>
<link rel="stylesheet" href="${url("swagger-ui.css")}">
<link rel="stylesheet" href="${url(DOCS_STYLE)}">
<script defer src="${url("swagger-ui-bundle.js")}"></script>
<script defer src="${url(DOCS_SCRIPT)}"></script>
</head>
<body>
<noscript><p>This page needs JavaScript. <a href="openapi.json">openapi.json</a> has the same text.</p></noscript>
<div id="docs"></div>
</body>
</html>
`.html;
}
