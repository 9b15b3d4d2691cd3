import pino from "pino";
import { MucastError } from "../../contract/errors/errors.ts";
import { secretHider } from "./hide-secrets.ts";

/**
 * Lines of the service's log. Fields stand beside the message, an error under `err`; a URL among them loses its query
 * string, and what is secret is hidden, but nobody should count on it: log names and numbers, not requests.
 */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A log each line of which has these fields too. */
  child(fields: object): Log;
}

/** A log each line of which tells the operation it is about. */
export function operationLog(log: Log, id: string): Log {
  return log.child({ operation_id: id });
}

/** Hears everything and says nothing, for tests. */
export const noLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => noLog,
};

export interface LogOptions {
  readonly level: "trace" | "debug" | "info" | "warn" | "error";
  /** Never to be seen in a line, wherever they come from: of the settings, of the environment. */
  readonly secrets?: readonly string[];
  /** Where lines go, each with its line break. */
  readonly destination: { write(line: string): void };
}

/** Opens the log: JSON lines, each with `time` (UTC), `level`, `pid`, `hostname`, `msg` and the fields given. */
export function openLog({ level, secrets = [], destination }: LogOptions): Log {
  return pino(
    {
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describe(error) },
      hooks: { streamWrite: secretHider(secrets) },
    },
    destination,
  );
}

interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly path?: string;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

const MOST_CAUSES = 4;

/**
 * An error without what else may hang on it: a database's error has the rows it speaks of, an HTTP client's its
 * request. Errors of ours that were meant to be need no stack.
 */
function describe(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause } = error;
  const code = "code" in error && error.code !== undefined ? { code: String(error.code) } : {};
  const isMeant = error instanceof MucastError && error.code !== "internal";
  return {
    type: name,
    message,
    ...code,
    ...(isMeant && error.data.path !== undefined ? { path: error.data.path } : {}),
    ...(isMeant || stack === undefined ? {} : { stack }),
    ...(cause === undefined || depth === MOST_CAUSES ? {} : { cause: describe(cause, depth + 1) }),
  };
}
