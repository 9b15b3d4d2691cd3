import type { Failure } from "./output-blob.ts";
import type { Warning } from "./warnings.ts";

/** The steps of a job, in the order in which they begin. */
export const STAGES = ["read", "fit", "evaluate", "write"] as const;
export type Stage = (typeof STAGES)[number];

/** What a running job tells. Progress counts are whole units of work: bytes while reading, fits while fitting. */
export type JobEvent =
  | { readonly kind: "progress"; readonly stage: Stage; readonly done: number; readonly total?: number }
  | { readonly kind: "warning"; readonly warning: Warning }
  | { readonly kind: "failure"; readonly failure: Failure };

export type Report = (event: JobEvent) => void;
