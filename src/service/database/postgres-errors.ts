import pg from "pg";
import { MucastError } from "../../contract/errors/errors.ts";

const UNREACHABLE = "the database cannot be reached";

/** SQLSTATE of a server, a database or a role without a free connection. */
const TOO_MANY_CONNECTIONS = "53300";

/** Errors after which a later call may succeed, by the prefix of their SQLSTATE; the first match counts. */
const PASSING_STATES: readonly (readonly [state: string, message: string])[] = [
  ["08", UNREACHABLE],
  ["25006", "the database is read-only"],
  ["25P03", UNREACHABLE],
  ["40001", "two requests changed the same rows of the database"],
  ["40P01", "two requests changed the same rows of the database"],
  [TOO_MANY_CONNECTIONS, "the database has no connection left"],
  ["53", "the database has no room left"],
  ["55P03", "another session holds a lock that the database needs"],
  ["57014", "the database took too long"],
  ["57P0", UNREACHABLE],
];
const PASSING_CODE = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)/;

/** Runs `body`. @throws MucastError unavailable instead of an error after which a later call may succeed. */
export async function mapErrors<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (cause) {
    const message = passingMessage(cause);
    if (message === undefined) throw cause;
    const code = codeOf(cause);
    const text = code === "" ? message : `${message} (${code})`;
    throw new MucastError("unavailable", text, { retryAfter: 5 }, { cause });
  }
}

function passingMessage(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof MucastError) return undefined;
  const code = codeOf(error);
  const known = PASSING_STATES.find(([state]) => code.startsWith(state));
  if (known) return known[1];
  const isConnection = code === "" && /connect|terminat|timeout/i.test(error.message);
  return PASSING_CODE.test(code) || isConnection ? UNREACHABLE : undefined;
}

/** Whether a connection must not be used again: it is broken, still owes an answer, or leads to a standby after a failover. */
export function endsConnection(error: unknown): boolean {
  if (!(error instanceof MucastError)) return false;
  const { cause } = error;
  return !(cause instanceof pg.DatabaseError) || /^(08|57P|25P03|25006)/.test(cause.code ?? "");
}

export function isFull(error: unknown): boolean {
  return codeOf(error) === TOO_MANY_CONNECTIONS;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
