import pino from "pino";
import { MucastError } from "../../contract/errors/errors.ts";
import { secretHider } from "./hide-secrets.ts";

/**
 * The service's log. A line has fields in addition to its message, with an error as `err`. The log removes query strings of URLs and
 * hides secrets, but callers must not rely on that: log names and numbers, not requests.
 */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface LogOptions {
  readonly level: "trace" | "debug" | "info" | "warn" | "error";
  /** Secrets of the settings and of the environment, which no line shows. */
  readonly secrets?: readonly string[];
  /** Takes lines, each with its line break. */
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

const MAX_CAUSES = 4;

/**
 * An error without its other properties: a database's error contains rows, an HTTP client's error its request. An expected error of
 * mucast needs no stack.
 */
function describe(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause } = error;
  const code = "code" in error && error.code !== undefined ? { code: String(error.code) } : {};
  const isExpected = error instanceof MucastError && error.code !== "internal";
  return {
    type: name,
    message,
    ...code,
    ...(isExpected && error.data.path !== undefined ? { path: error.data.path } : {}),
    ...(isExpected || stack === undefined ? {} : { stack }),
    ...(cause === undefined || depth === MAX_CAUSES ? {} : { cause: describe(cause, depth + 1) }),
  };
}
