import type { Failure } from "../../../contract/problems/problem.ts";

/** The failures of a candidate's fits. */
interface FailedFits {
  readonly candidate: { readonly label: string };
  readonly failures: readonly Failure[];
}

/**
 * The tickers that some candidate lost together with processes of the engine, with the failure of the first such candidate. They fail, as
 * without `choice`: memory or a signal may be at fault rather than the candidate, and a job that chose among the others would have other
 * forecasts than the same job on a quiet machine.
 */
export function lostTickers(outcomes: readonly FailedFits[]): Map<string, Failure> {
  const lost = new Map<string, Failure>();
  for (const [c, { candidate, failures }] of outcomes.entries()) {
    for (const { ticker, code, message } of failures) {
      if (code !== "engine_crashed" || lost.has(ticker)) continue;
      lost.set(ticker, { ticker, code, message: nameCandidate(message, c, candidate.label) });
    }
  }
  return lost;
}

/** Names the candidate, except the config itself. */
export function nameCandidate(message: string, c: number, label: string): string {
  return c === 0 ? message : `candidate ${c} (${label}): ${message}`;
}
