import { MucastApiError, type Problem } from "../client/index.ts";
import { element } from "./dom.ts";
import { code, prose, textElement } from "./words.ts";

/** Maximum number of faults that are listed; the rest are counted. */
const MAX_FAULTS = 20;

/** A problem in words: what is wrong, its faults, and what to do. */
export function problemBox({ title, detail, advice, code: name, faults = [] }: Problem): HTMLElement {
  const listed = faults
    .slice(0, MAX_FAULTS)
    .map(({ path, message }) => element("li", {}, code(path), " ", textElement(message, 500)));
  const more = faults.length - listed.length;
  return element(
    "div",
    { class: "problem" },
    element(
      "p",
      { class: "failed" },
      element("strong", {}, textElement(title ?? name, 200)),
      " ",
      code(name),
    ),
    element("p", {}, ...prose(detail, 2_000)),
    listed.length > 0 && element("ul", {}, ...listed),
    more > 0 && element("p", {}, `and ${more} more`),
    element("p", {}, element("strong", {}, "What to do: "), ...prose(advice, 1_000)),
  );
}

/** The message of an error for a reader, in one or two sentences. */
export function errorWords(error: unknown): string {
  if (error instanceof MucastApiError) return `${sentence(error.problem.detail)} ${error.problem.advice}`;
  if (error instanceof TypeError) return `The service does not respond: ${error.message}.`;
  return String(error);
}

/** An error in place of what could not be shown. */
export function errorBox(error: unknown): HTMLElement {
  const box =
    error instanceof MucastApiError
      ? problemBox(error.problem)
      : element("p", { class: "failed" }, textElement(errorWords(error), 500));
  box.setAttribute("role", "alert");
  return box;
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
