import { randomUUID } from "node:crypto";
import type { ErrorCode } from "../errors/error-codes.ts";
import { MucastError } from "../errors/errors.ts";
import { type Problem, problemOf } from "./problem.ts";

/** What the log contains about an error and the caller's problem does not. */
export interface PrivateDetails {
  readonly id: string;
  readonly what: "defect" | "engine";
  /** The error with its stack, its causes, and the engine's last output. */
  readonly text: string;
}

/** The text of a problem about the whole engine, whose own message names paths of the machine. */
const OF_THE_ENGINE: Partial<Record<ErrorCode, string>> = {
  engine_unavailable: "the Python engine cannot be started",
  engine_crashed: "processes of the Python engine died",
};

/**
 * The problem of `error` for a caller on another machine. A defect (an error that is not a MucastError, or has the code internal) becomes
 * only an id, because its message may contain paths and its stack does. An engine that does not start, or that printed last output,
 * becomes that fact, an id and the advice. @param log receives the rest.
 */
export function publicProblem(error: unknown, log: (withheld: PrivateDetails) => void): Problem {
  const known = error instanceof MucastError && error.code !== "internal" ? error : undefined;
  const { code = "internal", data = {} } = known ?? {};
  // Without its last output, and if it has no source, the message about a crash names no path of the machine.
  const isPlain = code === "engine_crashed" && data.source === undefined && data.stderr === undefined;
  const sentence = isPlain ? undefined : OF_THE_ENGINE[code];
  if (known !== undefined && sentence === undefined) return problemOf(known);
  const id = randomUUID();
  log({ id, what: sentence === undefined ? "defect" : "engine", text: textOf(error) });
  const message =
    sentence === undefined
      ? `a defect of mucast; see ${id} in its log`
      : `${sentence}; see ${id} in the log of mucast`;
  return problemOf(new MucastError(code, message, { id, ...(data.advice && { advice: data.advice }) }));
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stderr = error instanceof MucastError ? error.data.stderr : undefined;
  const cause = error.cause === undefined ? "" : `caused by ${textOf(error.cause)}`;
  return [error.stack ?? error.message, stderr, cause].filter(Boolean).join("\n");
}
