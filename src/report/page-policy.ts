import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** Two folders up, both from src and from the compiled package. */
export const STYLE = readFileSync(new URL("../../web/report.css", import.meta.url), "utf8");
export const SCRIPT = readFileSync(new URL("../../web/report.js", import.meta.url), "utf8");

/** Nothing is loaded; the hashes allow the one style sheet and the one script. */
export const REPORT_POLICY = `default-src 'none'; style-src 'sha256-${hashOf(STYLE)}'; script-src 'sha256-${hashOf(SCRIPT)}'; base-uri 'none'; form-action 'none'`;

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
