import type { RefObject, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Problem } from "../../contract/problems/problem.ts";
import { countedRows } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { bdi } from "../../view/text.ts";
import type { Path } from "./payload-tree.ts";

/** Maximum characters of one sentence of the service that a form shows. */
const MAX_SENTENCE_LENGTH = 1_000;

/** A fault as a form shows it. */
export interface PlacedFault {
  /** The path as the service names it, such as `config.ML params.n_splits`; empty for a fault of the whole request. */
  readonly path: string;
  readonly message: string;
}

/** Maximum number of faults that a form shows per answer; the service lists at most as many. */
export const MAX_FAULTS = 100;

/** Every fault of a problem; for a problem without a list, the problem itself. */
export function faultsIn({ faults, path = "", detail }: Problem): readonly PlacedFault[] {
  if (faults === undefined || faults.length === 0) return [{ path, message: detail }];
  return faults.slice(0, MAX_FAULTS).map(({ path: at, message, suggestion }) => ({
    path: at,
    message: suggestion === undefined ? message : `${message} (did you mean ${suggestion}?)`,
  }));
}

/** A member's path as the service writes it: keys joined by dots, unchanged. */
export function pathName(path: Path): string {
  return path.join(".");
}

/**
 * Groups faults by the place that shows them: the longest of these paths that is a fault's own path or a prefix of it. Keys can
 * contain dots, so paths are compared as text from their start.
 * @returns `elsewhere`: faults without a place.
 */
export function placeFaults(faults: readonly PlacedFault[], places: readonly Path[]) {
  // The longest first.
  const names = places.map(pathName).sort((a, b) => b.length - a.length);
  const at = Map.groupBy(faults, ({ path }) => names.find((name) => isAtOrBelow(path, name)));
  const elsewhere = at.get(undefined) ?? [];
  at.delete(undefined);
  return { at: at as ReadonlyMap<string, readonly PlacedFault[]>, elsewhere };
}

/** Whether a change of one member can settle a fault of another: they are the same, or one contains the other. */
export function mayChange(changed: string, fault: string): boolean {
  return isAtOrBelow(changed, fault) || isAtOrBelow(fault, changed);
}

function isAtOrBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`);
}

/**
 * What the service has refused in a form: a sentence above the fields, and the faults at them.
 * @param paths of the controls and sections that the form shows. @param place where faults with a field are shown, in words.
 */
export function useRefusal(form: RefObject<HTMLElement | null>, paths: readonly Path[], place: string) {
  const [faults, setFaults] = useState<readonly PlacedFault[]>([]);
  const [sentence, say] = useState<string>();
  const [shown, setShown] = useState(0);
  const { at, elsewhere } = placeFaults(faults, paths);
  useEffect(() => {
    if (shown > 0) focusFirstFault(form.current!);
  }, [shown]);
  const clear = () => {
    setFaults([]);
    say(undefined);
  };
  return {
    faults,
    at,
    /** A screen reader announces it at once. */
    box: html`<div class="refusal" role="alert">${sentence !== undefined && html`<p>${bdi(sentence, MAX_SENTENCE_LENGTH)}</p>`}
      ${elsewhere.length > 0 && faultList(elsewhere)}</div>`,
    say,
    clear,
    /** Unfolds the faults, and moves the focus to the first one. */
    point: () => setShown((count) => count + 1),
    explain: (problem: Problem) => {
      const all = faultsIn(problem);
      const placed = all.length - placeFaults(all, paths).elsewhere.length;
      const where =
        placed === 0 ? "" : ` ${countedRows(placed, "error")} ${placed === 1 ? "is" : "are"} shown ${place}.`;
      say(`${problem.title}.${where} ${problem.advice}`);
      setFaults(all);
      setShown((count) => count + 1);
    },
    /** Removes the faults that changes of these members may have settled. */
    settle: (...changed: readonly string[]) => {
      const left = faults.filter((fault) => !changed.some((path) => mayChange(path, fault.path)));
      if (left.length === faults.length) return;
      if (left.length === 0) clear();
      else setFaults(left);
    },
  };
}

/** Faults with their paths. */
export function faultList(faults: readonly PlacedFault[], id?: string): VNode {
  return html`<ul class=${id === undefined ? undefined : "fault"} id=${id}>${faults.map(
    ({ path, message }) =>
      html`<li>${bdi(path === "" ? message : `${path}: ${message}`, MAX_SENTENCE_LENGTH)}</li>`,
  )}</ul>`;
}

/** The line below a control that says what is wrong with it; hidden if nothing is. */
export function faultLine(messages: readonly string[], id?: string): VNode {
  return html`<p class="fault" id=${id} tabindex="-1" hidden=${messages.length === 0}>${messages.map(
    (message, i) => html`${i > 0 && html`<br />`}${bdi(message, MAX_SENTENCE_LENGTH)}`,
  )}</p>`;
}

/** Unfolds the faults that a form shows, and moves the focus to the control of the first one, or to the fault of a section. */
function focusFirstFault(form: HTMLElement): void {
  const lines = [
    ...form.querySelectorAll<HTMLElement>(":is(.field, .group, .section) > .fault:not([hidden])"),
  ];
  for (const line of lines) reveal(line);
  const control = lines[0]?.closest(".field")?.querySelector<HTMLElement>("input, select, textarea");
  (control ?? lines[0])?.focus();
}

/** Unfolds everything around an element. */
export function reveal(place: Element): void {
  for (let folded = place.closest("details"); folded !== null; ) {
    folded.open = true;
    folded = folded.parentElement?.closest("details") ?? null;
  }
}
