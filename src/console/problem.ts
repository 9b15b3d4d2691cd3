import type { VNode } from "preact";
import { MucastApiError, type Problem } from "../client/index.ts";
import { html } from "../view/html.ts";
import { bdi, code, prose } from "../view/text.ts";

/** A problem in words: what is wrong, its faults, and what to do. */
export function problemBox(
  { title, detail, advice, code: name, faults = [] }: Problem,
  role?: "alert",
): VNode {
  return html`<div class="problem" role=${role}>
    <p class="failed"><strong>${bdi(title ?? name, 200)}</strong> ${code(name)}</p>
    <p>${prose(detail, 2_000)}</p>
    ${faults.length > 0 && html`<ul>${faults.map(({ path, message }) => html`<li>${code(path)} ${bdi(message, 500)}</li>`)}</ul>`}
    <p><strong>What to do:</strong> ${prose(advice, 1_000)}</p>
  </div>`;
}

/** The message of an error for a reader, in one or two sentences. */
export function errorWords(error: unknown): string {
  if (error instanceof MucastApiError) {
    const { detail, advice } = error.problem;
    return `${/[.!?]$/.test(detail) ? detail : `${detail}.`} ${advice}`;
  }
  return error instanceof TypeError ? `The service does not respond: ${error.message}.` : String(error);
}

/** An error in place of what could not be shown. */
export function errorBox(error: unknown): VNode {
  if (error instanceof MucastApiError) return problemBox(error.problem, "alert");
  return html`<p class="failed" role="alert">${bdi(errorWords(error), 500)}</p>`;
}
