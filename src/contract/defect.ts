import { randomUUID } from "node:crypto";
import { MucastError } from "./errors.ts";
import { type Problem, problemOf } from "./problem.ts";

/** What the log says about a defect. */
export interface Defect {
  /** Named by the problem that the caller gets. */
  readonly id: string;
  /** With its stack, of its cause too. */
  readonly text: string;
}

/**
 * The problem of `error` for a caller who is not at this machine. Of a defect, which is whatever is no MucastError or
 * one of the code internal, it tells nothing but an id: a message may hold paths, and the stack does.
 * @param log gets what the problem keeps to itself.
 */
export function shownProblem(error: unknown, log: (defect: Defect) => void): Problem {
  if (error instanceof MucastError && error.code !== "internal") return problemOf(error);
  const id = randomUUID();
  log({ id, text: textOf(error) });
  return problemOf(new MucastError("internal", `a defect of mucast; its log tells more under ${id}`, { id }));
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.stack ?? error.message;
  return error.cause === undefined ? text : `${text}\ncaused by ${textOf(error.cause)}`;
}
