import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../../contract/problems/problem.ts";
import { countedRows } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { bdi } from "../../view/text.ts";
import { type Path, type RawJson, valueAt } from "./draft.ts";
import type { Member } from "./schema.ts";

/** Maximum characters of one sentence of the service that a form shows. */
const MAX_SENTENCE_LENGTH = 1_000;

/** A fault as a form shows it. */
interface PlacedFault {
  /** The path as the service names it, such as `config.ML params.n_splits`; empty for a fault of the whole request. */
  readonly path: string;
  readonly message: string;
}

/** Why a form was not accepted. */
export interface Refusal {
  readonly sentence: string;
  readonly faults: readonly PlacedFault[];
  /** The payload that was refused: a fault is shown as long as the value at its place is the one that was refused. */
  readonly tree: RawJson;
}

/** Every fault of a problem; for a problem without a list, the problem itself. */
export function faultsIn({ faults, path = "", detail }: Problem): readonly PlacedFault[] {
  if (faults === undefined || faults.length === 0) return [{ path, message: detail }];
  return faults.map(({ path: at, message, suggestion }) => ({
    path: at,
    message: suggestion === undefined ? message : `${message} (did you mean ${suggestion}?)`,
  }));
}

/** A path as the service writes it, such as `config.ML params.choice.candidates[0].grid`. */
export function pathName(path: Path): string {
  return path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`))
    .join("")
    .slice(1);
}

/** The faults that a place shows: those at its path or below, but not in one of the members that it shows. */
export function faultsAt(
  refusal: Refusal | undefined,
  tree: RawJson,
  path: Path,
  members: readonly Pick<Member, "path">[] = [],
): readonly PlacedFault[] {
  const textAt = (whole: RawJson) => JSON.stringify(valueAt(whole, path));
  if (refusal === undefined || (path.length > 0 && textAt(refusal.tree) !== textAt(tree))) return [];
  return refusal.faults.filter(
    (fault) => isAtOrBelow(fault, path) && !members.some((member) => isAtOrBelow(fault, member.path)),
  );
}

/** Keys can contain dots, so paths are compared as text from their start. */
function isAtOrBelow({ path }: PlacedFault, place: Path): boolean {
  const name = pathName(place);
  return name === "" || path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`);
}

/**
 * What the service has refused in a form: a box above the fields with a sentence and the faults that no field shows.
 * @param members that the form shows. @param place where faults with a field are shown, in words.
 */
export function useRefusal(tree: RawJson, members: readonly Member[], place: string) {
  const [refusal, setRefusal] = useState<Refusal>();
  const box = useRef<HTMLDivElement>(null);
  const isCurrent = refusal?.tree === tree;
  useEffect(() => {
    if (refusal !== undefined) focusFirstFault(box.current!.closest("form")!);
  }, [refusal]);
  const refuse = (sentence: string, faults: readonly PlacedFault[] = []) =>
    setRefusal({ sentence, faults, tree });
  return {
    refusal,
    /** All faults, until the reader changes something. */
    current: isCurrent ? refusal.faults : [],
    /** A screen reader announces it at once. */
    box: html`<div class="refusal" role="alert" ref=${box}>${
      isCurrent &&
      html`<p>${bdi(refusal.sentence, MAX_SENTENCE_LENGTH)}</p>${faultList(faultsAt(refusal, tree, [], members))}`
    }</div>`,
    refuse,
    clear: () => setRefusal(undefined),
    explain: (problem: Problem) => {
      const faults = faultsIn(problem);
      const count = faults.length - faultsAt({ sentence: "", faults, tree }, tree, [], members).length;
      const where =
        count === 0 ? "" : ` ${countedRows(count, "error")} ${count === 1 ? "is" : "are"} shown ${place}.`;
      refuse(`${problem.title}.${where} ${problem.advice}`, faults);
    },
  };
}

/** Faults with their paths; nothing if there are none. */
export function faultList(faults: readonly PlacedFault[], id?: string): VNode | undefined {
  if (faults.length === 0 && id === undefined) return undefined;
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
