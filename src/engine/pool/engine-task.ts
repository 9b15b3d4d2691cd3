import type { EngineTask, TaskProgress } from "./protocol.ts";

/** A task on its way through the pool. A second attempt is a new task to the engine, with a new id. */
export interface Job {
  readonly task: EngineTask;
  readonly onProgress: ((progress: TaskProgress) => void) | undefined;
  readonly settle: (outcome: { readonly result: unknown } | { readonly error: unknown }) => void;
  /** How each attempt so far ended. */
  readonly deaths: string[];
  /** Set once it is wanted no more. */
  aborted?: { readonly reason: unknown };
}

/** A worker as the pool sees it; it leaves the pool when its end is reported. */
export interface Worker {
  readonly number: number;
  /** Known once the host has started it. */
  pid?: number;
  /** The attempt it is at. */
  busy?: { readonly id: number; readonly job: Job };
  /** Set where the memory watch killed it: how much it held. */
  overMemory?: string;
  /** Set where it would have been over the limit without the other workers: a second attempt would end the same way. */
  tooLarge?: true;
  /** It has been told to end. */
  killed?: true;
}
