import pg from "pg";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database, Haste, Queryable } from "./database.ts";
import { connectWhenFree, listenOn } from "./postgres-connection.ts";

const POOL = {
  connectionTimeoutMillis: 10_000,
  // Soon, since another service may wait for it where the server has few.
  idleTimeoutMillis: 2_000,
  keepAlive: true,
} as const;

/** Milliseconds that a statement may take. */
export interface StatementTimes {
  /** The server gives up what waits so long for a lock. */
  readonly lock: number;
  /** The server ends a statement that has run so long, and a session that stands still in a transaction. */
  readonly statement: number;
  /** After that no more is expected of the server: of one that went without a word the system hears nothing for long. */
  readonly answer: number;
}

/** Leases last 20 s. */
const TIMES: StatementTimes = { lock: 5_000, statement: 10_000, answer: 15_000 };
/** Of an unhurried statement: an index on millions of rows takes minutes, and another service may be making it. */
const UNHURRIED_MILLISECONDS = 3_600_000;

export interface PostgresOptions {
  /** How many there are at most, besides the one that listens. */
  readonly connections: number;
  readonly times?: StatementTimes;
}

/** A PostgreSQL server, which several services may share. @param url `postgresql://…`; it is shown nowhere. */
export async function openPostgres(
  url: string,
  { connections, times = TIMES }: PostgresOptions,
): Promise<Database> {
  const config = {
    connectionString: url,
    application_name: "mucast",
    options: "-c search_path=mucast,public",
  };
  checkUrl(config);
  const pool = new pg.Pool({
    ...config,
    ...POOL,
    max: connections,
    query_timeout: times.answer,
    // Where only this side gave up, what waits at the server would keep its backend, and a new one be made each time.
    statement_timeout: times.statement,
    lock_timeout: times.lock,
    idle_in_transaction_session_timeout: times.statement,
  });
  // A connection that breaks while it is idle is replaced by the next one; the statement that needs it tells.
  pool.on("error", () => undefined);
  // Between the pool, which listens while a connection is idle, and the statement, which listens once it has it, an error
  // that comes with the same bytes as the connection's readiness would have no listener, and end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  const database: Database = {
    kind: "postgres",
    query: (text, params) => reaching(() => connected(pool, (client) => run(client, text, params))),
    exec: (text) => reaching(() => connected(pool, async (client) => void (await client.query(text)))),
    transaction: (body, haste) =>
      reaching(() => connected(pool, (client, onBroken) => transaction(client, body, onBroken, haste))),
    listen: (channel, told, missed) => reaching(() => listenOn(config, channel, told, missed)),
    close: () => pool.end(),
  };
  try {
    await database.exec("create schema if not exists mucast");
  } catch (error) {
    await pool.end();
    throw error instanceof MucastError ? error : refused(error);
  }
  return database;
}

/** @throws MucastError invalid_request, in which no part of the URL is shown. */
function checkUrl(config: pg.ClientConfig): void {
  try {
    new pg.Client(config);
  } catch {
    const message =
      "DATABASE_URL is no URL that PostgreSQL takes; write postgresql://user:password@host:port/database";
    throw new MucastError("invalid_request", message, { path: "DATABASE_URL" });
  }
}

/** What the server says at the first statement: a wrong password, no such database, no right to make a schema. */
function refused(cause: unknown): MucastError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new MucastError("unavailable", `the database of DATABASE_URL refuses: ${reason}`, {}, { cause });
}

async function run<T>(
  client: pg.PoolClient,
  text: string,
  params?: readonly unknown[],
  haste: Haste = "usual",
) {
  const { rows } = await client.query({
    text,
    ...(params && { values: [...params] }),
    ...(haste === "unhurried" && { query_timeout: UNHURRIED_MILLISECONDS }),
  });
  return { rows: rows as T[] };
}

/** Lends a connection to `body`; one that is broken, or from which an answer is still to come, is not used again. */
async function connected<T>(
  pool: pg.Pool,
  body: (client: pg.PoolClient, onBroken: (error: Error) => void) => Promise<T>,
): Promise<T> {
  const client = await connectWhenFree(() => pool.connect());
  let broken: Error | undefined;
  const onBroken = (error: Error) => {
    broken ??= error;
  };
  client.on("error", onBroken);
  try {
    return await body(client, onBroken);
  } catch (error) {
    if (isPassing(error) && !isAnswer(error)) onBroken(error);
    throw error;
  } finally {
    client.off("error", onBroken);
    client.release(broken);
  }
}

/** Whether the server said it, and is ready for the next statement. */
function isAnswer(error: Error): boolean {
  return error instanceof pg.DatabaseError && !/^(08|57P|25P03)/.test(error.code ?? "");
}

/** Until the transaction ends. */
const UNHURRIED = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
  .map((name) => `set local ${name} = ${UNHURRIED_MILLISECONDS}`)
  .join("; ");

async function transaction<T>(
  client: pg.PoolClient,
  body: (statements: Queryable) => Promise<T>,
  onBroken: (error: Error) => void,
  haste: Haste = "usual",
): Promise<T> {
  try {
    await client.query("begin");
    if (haste === "unhurried") await client.query(UNHURRIED);
    const result = await body({ query: (text, params) => run(client, text, params, haste) });
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(onBroken);
    throw error;
  }
}

/** SQLSTATE classes of a server that is going, coming or out of reach, of what took too long, and of conflicts that pass. */
const PASSING_STATE = /^(08|53|57P0|57014|55P03|25P03|40001|40P01)/;
const PASSING_CODE = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)/;

async function reaching<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw isPassing(error) ? away(error) : error;
  }
}

function isPassing(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof MucastError) return false;
  const code = "code" in error ? String(error.code) : "";
  if (PASSING_STATE.test(code) || PASSING_CODE.test(code)) return true;
  return code === "" && /connect|terminat|timeout/i.test(error.message);
}

function away(cause: Error): MucastError {
  const code = "code" in cause ? ` (${String(cause.code)})` : "";
  return new MucastError(
    "unavailable",
    `the database cannot be reached${code}`,
    { retryAfter: 5 },
    { cause },
  );
}
