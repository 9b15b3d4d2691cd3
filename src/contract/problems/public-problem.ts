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
 * The problem of `error` for a caller on another machine. A defect (an error that is not a MucastError, or has the code internal)
 * becomes only an id, because its message may contain paths and its stack does. An engine that does not start, or that printed
 * last output, becomes that fact, an id and the advice.
 * @param log receives what the problem omits.
 */
export function publicProblem(error: unknown, log: (withheld: PrivateDetails) => void): Problem {
  const engine = engineProblem(error);
  if (engine === undefined && error instanceof MucastError && error.code !== "internal")
    return problemOf(error);
  const id = randomUUID();
  log({ id, what: engine === undefined ? "defect" : "engine", text: textOf(error) });
  const { code, sentence, ...advice } = engine ?? { code: "internal", sentence: "a defect of mucast" };
  const source = engine === undefined ? "its log" : "the log of mucast";
  return problemOf(new MucastError(code, `${sentence}; see ${id} in ${source}`, { id, ...advice }));
}

interface EngineProblem {
  readonly code: ErrorCode;
  readonly sentence: string;
  readonly advice?: string;
}

function engineProblem(error: unknown): EngineProblem | undefined {
  if (!(error instanceof MucastError)) return undefined;
  const { code, data } = error;
  const sentence = OF_THE_ENGINE[code];
  const isPlain = code === "engine_crashed" && data.source === undefined && data.stderr === undefined;
  if (sentence === undefined || isPlain) return undefined;
  return { code, sentence, ...(data.advice === undefined ? {} : { advice: data.advice }) };
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stderr =
    error instanceof MucastError && typeof error.data.stderr === "string" ? error.data.stderr : "";
  const text = [error.stack ?? error.message, ...(stderr === "" ? [] : [stderr])].join("\n");
  return error.cause === undefined ? text : `${text}\ncaused by ${textOf(error.cause)}`;
}
