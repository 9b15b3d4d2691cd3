import type { Problem } from "../../../contract/problems/problem.ts";
import { element, fill } from "../../dom.ts";
import { shown } from "../../shown-text.ts";
import { counted } from "../../words.ts";
import type { PlacedFault } from "./fault-places.ts";

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
    fill(box, ...sentences.map((sentence) => element("p", {}, shown(sentence, MAX_SENTENCE_LENGTH))));
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
        element("li", {}, shown(path === "" ? message : `${path}: ${message}`, MAX_SENTENCE_LENGTH)),
      );
      box.append(element("ul", {}, ...items));
    },
  };
}
