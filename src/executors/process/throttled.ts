import type { ExecutionEvent } from "../../contract/api/job-events.ts";

type Tell = (event: ExecutionEvent) => void;

const PAUSE_MILLISECONDS = 100;

/** Passes on progress ten times a second at most, and always the first and the last of a stage; everything else at once. */
export function throttled(tell: Tell): Tell {
  let told = Number.NEGATIVE_INFINITY;
  let stage: string | undefined;
  return (event) => {
    if (event.kind === "progress") {
      const isLast = event.total !== undefined && event.done >= event.total;
      const now = performance.now();
      if (event.stage === stage && !isLast && now - told < PAUSE_MILLISECONDS) return;
      told = now;
      stage = event.stage;
    }
    tell(event);
  };
}
