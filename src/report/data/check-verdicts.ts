import type { CheckVerdict } from "./report-data.ts";

/** What `mucast replay` and `mucast audit` said about an output, where a caller gives their verdicts. */
export interface CheckVerdicts {
  readonly replay: CheckVerdict | undefined;
  readonly audit: CheckVerdict | undefined;
}
