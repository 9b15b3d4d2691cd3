import type { Settings } from "../../../contract/settings.ts";
import { MUCAST_VERSION } from "../../../contract/version.ts";
import { CONSOLE_ENTRY, CONSOLE_ICON, CONSOLE_STYLES } from "./console-files.ts";
import { html } from "./html.ts";
import type { WebFiles } from "./web-files.ts";

/**
 * The console runs only the service's own scripts, has no inline script or style, makes requests to no other origin, and cannot turn
 * text into HTML or script: it cannot create a trusted type.
 */
export const CONSOLE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The page of the console. Its URLs are relative, so that a proxy may serve it below a path. */
export function consolePage({ files, version }: WebFiles, { auth }: Pick<Settings, "auth">): string {
  const url = (path: string) => `web/${version}/${path}`;
  const modules = [...files.keys()].filter((path) => path.endsWith(".js") && path !== CONSOLE_ENTRY);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>mucast</title>
<link rel="icon" type="image/svg+xml" href="${url(CONSOLE_ICON)}">
${CONSOLE_STYLES.map((style) => html`<link rel="stylesheet" href="${url(style)}">\n`)}<script type="module" src="${url(CONSOLE_ENTRY)}"></script>
${modules.map((path) => html`<link rel="modulepreload" href="${url(path)}">\n`)}</head>
<body data-auth="${auth}" data-version="${MUCAST_VERSION}">
<noscript><p>The console needs JavaScript. Without it, send requests with <code>curl</code>: <code>openapi.json</code> describes them.</p></noscript>
</body>
</html>
`.html;
}
