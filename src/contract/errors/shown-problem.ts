import { randomUUID } from "node:crypto";
import type { ErrorCode } from "./error-codes.ts";
import { MucastError } from "./errors.ts";
import { type Problem, problemOf } from "./problem.ts";

/** What the log says of an error that its problem keeps to itself. */
export interface Withheld {
  /** Named by the problem that the caller gets. */
  readonly id: string;
  readonly what: "defect" | "engine";
  /** With its stack, of its cause too, and the engine's last words. */
  readonly text: string;
}

/** What callers are told of an engine that fails as a whole: its own words name places of the machine. */
const OF_THE_ENGINE: Partial<Record<ErrorCode, string>> = {
  engine_unavailable: "the Python engine cannot be started",
  engine_crashed: "processes of the Python engine died",
};

/**
 * The problem of `error` for a caller who is not at this machine. Of a defect, which is whatever is no MucastError or
 * one of the code internal, it tells nothing but an id: a message may hold paths, and the stack does. Of an engine that
 * cannot be started, or has left last words, it tells that and an id.
 * @param log gets what the problem keeps to itself.
 */
export function shownProblem(error: unknown, log: (withheld: Withheld) => void): Problem {
  const engine = wordsOfEngine(error);
  if (engine === undefined && error instanceof MucastError && error.code !== "internal")
    return problemOf(error);
  const id = randomUUID();
  log({ id, what: engine === undefined ? "defect" : "engine", text: textOf(error) });
  const told = engine ?? { code: "internal", words: "a defect of mucast" };
  const place = engine === undefined ? "its log" : "the log of mucast";
  return problemOf(new MucastError(told.code, `${told.words}; ${place} tells more under ${id}`, { id }));
}

function wordsOfEngine(error: unknown): { code: ErrorCode; words: string } | undefined {
  if (!(error instanceof MucastError)) return undefined;
  const { code, data } = error;
  const words = OF_THE_ENGINE[code];
  const isPlain = code === "engine_crashed" && data.source === undefined && data.stderr === undefined;
  return words === undefined || isPlain ? undefined : { code, words };
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const said = error instanceof MucastError && typeof error.data.stderr === "string" ? error.data.stderr : "";
  const text = [error.stack ?? error.message, ...(said === "" ? [] : [said])].join("\n");
  return error.cause === undefined ? text : `${text}\ncaused by ${textOf(error.cause)}`;
}
