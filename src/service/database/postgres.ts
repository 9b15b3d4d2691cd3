import pg from "pg";
import { MucastError } from "../../contract/errors/errors.ts";
import { printable } from "../../contract/errors/wording.ts";
import type { Database, Queryable, StatementTime } from "./database.ts";
import { connectWhenFree, endsConnection, listenOn, mapPassing } from "./postgres-connection.ts";
import { StatementQueue } from "./statement-queue.ts";

const POOL = {
  connectionTimeoutMillis: 10_000,
  // Short, since another service may wait for a connection of a server with few.
  idleTimeoutMillis: 2_000,
  keepAlive: true,
} as const;

/** Time limits of a statement, milliseconds. */
export interface StatementTimes {
  /** The server aborts a statement that has waited this long for a lock. */
  readonly lock: number;
  /** The server aborts a statement that has run this long, and a session that is idle in a transaction for this long. */
  readonly statement: number;
  /** The service stops waiting for an answer after this long, since a broken network may report nothing for minutes. */
  readonly answer: number;
}

/** Leases last 20 s. */
const TIMES: StatementTimes = { lock: 5_000, statement: 10_000, answer: 15_000 };
/** For a long statement: an index on millions of rows takes minutes, and another service may be creating it. */
const LONG_MILLISECONDS = 3_600_000;

export interface PostgresOptions {
  /** Maximum number of connections, in addition to the one that listens. */
  readonly connections: number;
  readonly times?: StatementTimes;
}

/** Connects to a PostgreSQL server, which several services can share, and changes nothing. @param url `postgresql://…`; no message shows it. */
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
    // Limits on the server too: a statement that only the service stopped waiting for would keep its connection busy.
    statement_timeout: times.statement,
    lock_timeout: times.lock,
    idle_in_transaction_session_timeout: times.statement,
  });
  // The pool replaces an idle connection that breaks; a statement that needs one reports the error.
  pool.on("error", () => undefined);
  // The pool listens for errors of an idle connection, and a statement for errors of its own. An error that arrives with the
  // same bytes as the connection's readiness comes between the two, and would end the process without this listener.
  pool.on("connect", (client) => client.on("error", () => undefined));
  // The pool lends connections in the order of requests; the queue lets callers take turns.
  const queue = new StatementQueue({ atOnce: connections, patience: POOL.connectionTimeoutMillis });
  const inTurn = <T>(body: Parameters<typeof connected<T>>[1]) =>
    mapPassing(() => queue.run(() => connected(pool, body)));
  const database: Database = {
    kind: "postgres",
    query: (text, params) => inTurn((client) => run(client, text, params)),
    exec: (text) => inTurn(async (client) => void (await client.query(text))),
    transaction: (body, time) => inTurn((client, onBroken) => transaction(client, body, onBroken, time)),
    listen: (channel, onNotification, onMissed) =>
      mapPassing(() => listenOn(config, channel, { onNotification, onMissed })),
    close: () => pool.end(),
  };
  try {
    await database.query("select 1");
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
      "DATABASE_URL is not a PostgreSQL URL; write postgresql://user:password@host:port/database";
    throw new MucastError("invalid_request", message, { path: "DATABASE_URL" });
  }
}

/** The server and the database of a URL, without its user, password and query, for commands. @param url one that `openPostgres` accepts. */
export function postgresName(url: string): string {
  const { host, port, database = "" } = new pg.Client({ connectionString: url });
  const shown = host.includes(":") ? `[${host}]` : host;
  return printable(`PostgreSQL database ${database} on ${shown}:${port}`);
}

/** The error of the first statement: a wrong password, no such database. */
function refused(cause: unknown): MucastError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new MucastError("unavailable", `the database of DATABASE_URL refuses: ${reason}`, {}, { cause });
}

async function run<T>(
  client: pg.PoolClient,
  text: string,
  params?: readonly unknown[],
  time: StatementTime = "usual",
) {
  const { rows } = await client.query({
    text,
    ...(params && { values: [...params] }),
    ...(time === "long" && { query_timeout: LONG_MILLISECONDS }),
  });
  return { rows: rows as T[] };
}

/** Lends a connection to `body`. Does not reuse one that is broken or still owes an answer. */
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
    if (endsConnection(error)) onBroken(error);
    throw error;
  } finally {
    client.off("error", onBroken);
    client.release(broken);
  }
}

/** Valid until the transaction ends. */
const LONG_LIMITS = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
  .map((name) => `set local ${name} = ${LONG_MILLISECONDS}`)
  .join("; ");

async function transaction<T>(
  client: pg.PoolClient,
  body: (statements: Queryable) => Promise<T>,
  onBroken: (error: Error) => void,
  time: StatementTime = "usual",
): Promise<T> {
  try {
    await client.query("begin");
    if (time === "long") await client.query(LONG_LIMITS);
    const result = await body({ query: (text, params) => run(client, text, params, time) });
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(onBroken);
    throw error;
  }
}
