import type { OperationView } from "../../../client/index.ts";
import type { StagePace } from "./stage-pace.ts";
import type { TrainingCurves } from "./training-curves.ts";

export interface HistoryEntry {
  readonly time: string;
  readonly words: string;
}

/** The state of an operation that the page follows. */
export interface FollowedState {
  readonly operation: OperationView;
  readonly curves: TrainingCurves;
  /** In the order in which they arrived. */
  readonly happenings: readonly HistoryEntry[];
  /** Stages that have been reached, in order. */
  readonly stages: readonly string[];
  /** How fast the current stage is. */
  readonly pace: StagePace;
}

/** A part of the page of an operation. It is hidden if it has nothing to show. */
export interface Panel {
  readonly element: HTMLElement;
  /** Called initially and after each change. */
  show(followed: FollowedState): void;
}
