import type { Problem } from "../../../contract/problems/problem.ts";
import { element, fill } from "../../dom.ts";
import { counted, textElement } from "../../words.ts";
import type { Path } from "../fields/payload-tree.ts";

/** Maximum characters of one sentence of the service that a form shows. */
const MAX_SENTENCE_LENGTH = 1_000;

/** Why something was refused, above the fields to change. A screen reader announces it at once. */
export interface Refusal {
  readonly element: HTMLElement;
  clear(): void;
  /** @param sentences written by the console or by the service. */
  say(...sentences: readonly string[]): void;
  /** @param elsewhere faults without a field. @param placed how many faults appear in another `place`. */
  showProblem(problem: Problem, elsewhere: readonly PlacedFault[], placed: number, place: string): void;
}

export function makeRefusal(): Refusal {
  const box = element("div", { class: "refusal", role: "alert" });
  const say = (...sentences: readonly string[]) =>
    fill(box, ...sentences.map((sentence) => element("p", {}, textElement(sentence, MAX_SENTENCE_LENGTH))));
  return {
    element: box,
    clear: () => fill(box),
    say,
    showProblem: ({ title, advice }, elsewhere, placed, place) => {
      const faults = counted(placed, "error");
      const where = placed === 0 ? "" : ` ${faults} ${placed === 1 ? "is" : "are"} shown ${place}.`;
      say(`${title}.${where} ${advice}`);
      if (elsewhere.length === 0) return;
      const items = elsewhere.map(({ path, message }) =>
        element("li", {}, textElement(path === "" ? message : `${path}: ${message}`, MAX_SENTENCE_LENGTH)),
      );
      box.append(element("ul", {}, ...items));
    },
  };
}

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
export function placeFaults(
  faults: readonly PlacedFault[],
  places: readonly Path[],
): { readonly at: ReadonlyMap<string, readonly PlacedFault[]>; readonly elsewhere: readonly PlacedFault[] } {
  // The longest first.
  const names = places.map(pathName).sort((a, b) => b.length - a.length);
  const byPlace = Map.groupBy(faults, ({ path }) => names.find((name) => isAtOrBelow(path, name)));
  const { elsewhere = [], at } = {
    elsewhere: byPlace.get(undefined),
    at: new Map<string, readonly PlacedFault[]>(),
  };
  for (const [name, found] of byPlace) if (name !== undefined) at.set(name, found);
  return { at, elsewhere };
}

/** Whether a change of one member can settle a fault of another: they are the same, or one contains the other. */
export function mayChange(changed: string, fault: string): boolean {
  return isAtOrBelow(changed, fault) || isAtOrBelow(fault, changed);
}

function isAtOrBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`);
}
