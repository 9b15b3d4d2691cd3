import pg from "pg";
import { MucastError } from "../../contract/errors/errors.ts";

const UNREACHABLE = "the database cannot be reached";

/** Errors after which a later call may succeed, by the prefix of their SQLSTATE; the first match counts. */
const TRANSIENT_STATES: readonly (readonly [state: string, message: string])[] = [
  ["08", UNREACHABLE],
  ["25006", "the database is read-only"],
  ["25P03", UNREACHABLE],
  ["40001", "two requests changed the same rows of the database"],
  ["40P01", "two requests changed the same rows of the database"],
  ["53300", "the database has no connection left"],
  ["53", "the database has no room left"],
  ["55P03", "another session holds a lock that the database needs"],
  ["57014", "the database took too long"],
  ["57P0", UNREACHABLE],
];
const TRANSIENT_CODE = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)/;

const RETRY_SECONDS = 5;

/** Runs `body`. @throws MucastError unavailable instead of an error after which a later call may succeed. */
export async function mapPassing<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    const message = transientMessage(error);
    throw message === undefined ? error : unavailable(message, error as Error);
  }
}

/** Whether a connection must not be reused after this error: it is broken, still owes an answer, or led to a standby. */
export function endsConnection(error: unknown): error is Error {
  return transientMessage(error) !== undefined && !isAnswer(error as Error);
}

/** Whether the server sent the error, is ready for the next statement, and may answer that one differently. */
function isAnswer(error: Error): boolean {
  // After a failover, a new connection may reach the server that accepts writes.
  return error instanceof pg.DatabaseError && !/^(08|57P|25P03|25006)/.test(error.code ?? "");
}

/** The message for callers; undefined for an error that later calls would meet, too. */
function transientMessage(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof MucastError) return undefined;
  const code = "code" in error ? String(error.code) : "";
  const known = TRANSIENT_STATES.find(([state]) => code.startsWith(state));
  if (known) return known[1];
  const isConnection = code === "" && /connect|terminat|timeout/i.test(error.message);
  return TRANSIENT_CODE.test(code) || isConnection ? UNREACHABLE : undefined;
}

function unavailable(message: string, cause: Error): MucastError {
  const code = "code" in cause ? ` (${String(cause.code)})` : "";
  return new MucastError("unavailable", `${message}${code}`, { retryAfter: RETRY_SECONDS }, { cause });
}
