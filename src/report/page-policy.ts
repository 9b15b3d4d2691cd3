import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** Colours and marks of charts are those of the console too. */
export const STYLE = `${readWeb("charts.css")}${readWeb("report.css")}`;
export const SCRIPT = readWeb("report.js");

/** Two folders up, both from src and from the compiled package. */
function readWeb(name: string): string {
  return readFileSync(new URL(`../../web/${name}`, import.meta.url), "utf8");
}

/** Nothing is loaded; the hashes allow the one style sheet and the one script. */
export const REPORT_POLICY = `default-src 'none'; style-src 'sha256-${hashOf(STYLE)}'; script-src 'sha256-${hashOf(SCRIPT)}'; base-uri 'none'; form-action 'none'`;

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
