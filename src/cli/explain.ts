import type { CodeCounts } from "../contract/api/answer-limits.ts";
import { type Fault, MucastError } from "../contract/errors/errors.ts";
import { faultLine } from "../contract/errors/faults.ts";
import { type Problem, problemOf } from "../contract/errors/problem.ts";
import { namedFailure, printable } from "../contract/errors/wording.ts";
import type { Reporter } from "./reporter.ts";

/** Tells an error on stderr and gives the exit code of its kind; stdout stays empty. */
export function explain(error: unknown, reporter: Reporter): number {
  const problem = problemOf(error);
  reporter.finish();
  reporter.tell({ level: "error", ...problem }, problemText(problem));
  if (!(error instanceof MucastError) && error instanceof Error) {
    reporter.tell({ level: "error", stack: error.stack }, String(error.stack));
  }
  return error instanceof MucastError ? (error.entry.exit ?? 1) : 1;
}

function problemText(problem: Problem): string {
  const lines = [`error: ${problem.code}: ${problem.title}`];
  const faults = (problem.faults ?? []) as readonly Fault[];
  lines.push(...(faults.length > 0 ? faults.map(faultLine) : [problem.detail]).map(indented));
  // unknown_model lists its few names in the sentence already.
  if (problem.code === "invalid_model_params" && Array.isArray(problem.accepted)) {
    lines.push(`  accepted: ${problem.accepted.join(", ")}`);
  }
  const failures = problem.failures as
    | readonly { ticker: string; code: string; message: string }[]
    | undefined;
  for (const failure of failures ?? []) lines.push(indented(`${failure.code}: ${namedFailure(failure)}`));
  const counts = Object.entries((problem.failure_counts ?? {}) as CodeCounts);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  if (all > (failures?.length ?? 0)) {
    const byCode = counts.map(([code, count]) => `${count} ${code}`).join(", ");
    lines.push(indented(`of all ${all} tickers that failed: ${byCode}`));
  }
  lines.push(`  ${problem.advice}`);
  return lines.join("\n");
}

/** A tool's words may have lines of their own; none begins where ours do. */
function indented(text: string): string {
  return text
    .split("\n")
    .map((line, i) => `${i === 0 ? "  " : "    "}${printable(line)}`)
    .join("\n");
}
