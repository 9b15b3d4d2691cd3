import { element } from "../../dom.ts";
import type { Path } from "./payload-tree.ts";

/** The members of an object that a form shows at once; it folds the others. */
export interface Fold {
  readonly shown: readonly string[];
  /** The label of the folded members. */
  readonly label: string;
}

/** Folds by the path of their object, its keys joined with a slash. */
export type Folds = Readonly<Record<string, Fold>>;

const MORE = "More settings";

/** The few settings that decide what a job trains; the defaults of the others suit most jobs. */
export const JOB_FOLDS: Folds = {
  "": { shown: ["config"], label: "Input URLs, window and tags" },
  "config/ML params": {
    shown: ["model", "model_params", "cv_test_size", "n_splits", "fit", "target", "intervals"],
    label: MORE,
  },
  "config/ML params/intervals": { shown: ["alpha"], label: MORE },
  "config/NN params/Dot prediction": {
    shown: ["current option", "data_processing", "training_params", "target", "intervals"],
    label: MORE,
  },
  "config/NN params/Dot prediction/training_params": {
    shown: ["epochs", "learning_rate", "ensemble"],
    label: MORE,
  },
  "config/NN params/Dot prediction/intervals": { shown: ["alpha"], label: MORE },
};

export function foldAt(folds: Folds, path: Path): Fold | undefined {
  const key = path.join("/");
  return Object.hasOwn(folds, key) ? folds[key] : undefined;
}

/** A folded part of a form. */
export interface FoldedPart {
  readonly element: HTMLDetailsElement;
  /** Says how many of its members are set. */
  show(set: number): void;
}

export function foldedPart({ label }: Fold, elements: readonly HTMLElement[]): FoldedPart {
  const summary = element("summary", {}, label);
  return {
    element: element("details", { class: "more" }, summary, element("div", { class: "held" }, ...elements)),
    show: (set) => {
      const words = set === 0 ? label : `${label} (${set} set)`;
      if (summary.textContent !== words) summary.textContent = words;
    },
  };
}

/** Unfolds everything around an element. */
export function reveal(place: Element): void {
  for (let folded = place.closest("details"); folded !== null; ) {
    folded.open = true;
    folded = folded.parentElement?.closest("details") ?? null;
  }
}
