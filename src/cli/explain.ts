import { MucastError, type Problem, problemOf } from "../contract/errors.ts";
import type { Reporter } from "./reporter.ts";

/** Tells an error on stderr and gives the exit code of its kind; stdout stays empty. */
export function explain(error: unknown, reporter: Reporter): number {
  const problem = problemOf(error);
  reporter.finish();
  reporter.tell({ level: "error", ...problem }, problemText(problem));
  if (!(error instanceof MucastError) && error instanceof Error) {
    reporter.tell({ level: "error", stack: error.stack }, String(error.stack));
  }
  return error instanceof MucastError ? error.entry.exit : 1;
}

function problemText(problem: Problem): string {
  const lines = [`error: ${problem.code}: ${problem.title}`];
  const faults = problem.faults as
    | readonly { path: string; message: string; suggestion?: string }[]
    | undefined;
  if (faults && faults.length > 0) {
    for (const { path, message, suggestion } of faults) {
      lines.push(`  ${path}: ${message}${suggestion === undefined ? "" : ` (did you mean ${suggestion}?)`}`);
    }
  } else {
    lines.push(`  ${problem.detail}`);
  }
  const failures = problem.failures as
    | readonly { ticker: string; code: string; message: string }[]
    | undefined;
  for (const { ticker, code, message } of failures ?? []) lines.push(`  ${ticker}: ${code}: ${message}`);
  lines.push(`  ${problem.advice}`);
  return lines.join("\n");
}
