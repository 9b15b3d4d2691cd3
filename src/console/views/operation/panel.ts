import type { OperationView } from "../../../client/index.ts";
import type { TrainingCurves } from "./training-curves.ts";

/** Something that an operation went through. */
export interface Happening {
  readonly time: string;
  readonly words: string;
}

/** What is known of an operation that the page follows. */
export interface Followed {
  readonly operation: OperationView;
  readonly curves: TrainingCurves;
  /** In the order in which they came. */
  readonly happenings: readonly Happening[];
  /** Stages that have been reached, in their order. */
  readonly stages: readonly string[];
}

/** A part of the page of an operation. It shows nothing where it has nothing to say. */
export interface Panel {
  readonly element: HTMLElement;
  /** Called at first and after each change. */
  show(followed: Followed): void;
}
