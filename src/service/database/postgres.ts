import { setTimeout as pause } from "node:timers/promises";
import { Kysely, PostgresDialect, type PostgresPoolClient, sql } from "kysely";
import pg from "pg";
import { MucastError } from "../../contract/errors/errors.ts";
import { codeOf } from "../../contract/errors/system-error.ts";
import { printable } from "../../contract/errors/wording.ts";
import { CHANNEL, type Database, type EventRow, type Listener } from "./database.ts";
import type { Statements, Tables } from "./tables.ts";

/** Milliseconds. */
const TIMES = {
  connect: 10_000,
  /** Short, since another service may wait for a connection of a server with few. */
  idle: 2_000,
  /** The server aborts a statement that has waited this long for a lock; leases last 20 s. */
  lock: 5_000,
  statement: 10_000,
  /** The service stops waiting for an answer, since a broken network may report nothing for minutes. */
  answer: 15_000,
  reconnect: 1_000,
  poll: 1_000,
};
const DEFAULT_CONNECTIONS = 10;

/** A transaction's own limits: a pooler gives each transaction another session. */
const BEGIN =
  `begin; set local lock_timeout = ${TIMES.lock}; set local statement_timeout = ${TIMES.statement}; ` +
  `set local idle_in_transaction_session_timeout = ${TIMES.statement}`;

/** @param url of a server or a pooler. @param options `listenUrl`: past the pooler; `connections`: besides the one that listens. */
export async function openPostgres(
  url: string,
  options: { readonly listenUrl?: string | undefined; readonly connections?: number | undefined } = {},
): Promise<Database> {
  const { listenUrl = url, connections = DEFAULT_CONNECTIONS } = options;
  checkUrl(url, "DATABASE_URL");
  checkUrl(listenUrl, "DATABASE_LISTEN_URL");
  const pool = new pg.Pool({
    ...configOf(url),
    max: connections,
    connectionTimeoutMillis: TIMES.connect,
    idleTimeoutMillis: TIMES.idle,
    query_timeout: TIMES.answer,
  });
  // The pool replaces an idle connection that breaks; a statement that needs one reports the error.
  pool.on("error", () => undefined);
  // An error that arrives with the same bytes as the connection's readiness has no other listener, and would end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  const database = new ServerDatabase(pool, listenUrl);
  try {
    await sql`select 1`.execute(database.db);
    return database;
  } catch (cause) {
    await database.close();
    if (cause instanceof MucastError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MucastError("unavailable", `the database of DATABASE_URL refuses: ${reason}`, {}, { cause });
  }
}

function checkUrl(url: string, path: string): void {
  try {
    new pg.Client(configOf(url));
  } catch {
    const message = `${path} is not a PostgreSQL URL; write postgresql://user:password@host:port/database`;
    throw new MucastError("invalid_request", message, { path });
  }
}

/** The server and the database of a URL, without its user, password and query, for commands. @param url one that `openPostgres` accepts. */
export function postgresName(url: string): string {
  const { host, port, database = "" } = new pg.Client({ connectionString: url });
  const shown = host.includes(":") ? `[${host}]` : host;
  return printable(`PostgreSQL database ${database} on ${shown}:${port}`);
}

function configOf(connectionString: string): pg.ClientConfig {
  return { connectionString, application_name: "mucast", keepAlive: true, types: { getTypeParser } };
}

/** bigint and numeric, which hold counts and sizes here. */
const NUMBERS = new Set([20, 1700]);

const getTypeParser = ((oid: number, format?: "text" | "binary") =>
  NUMBERS.has(oid) ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;

class ServerDatabase implements Database {
  readonly kind = "postgres";
  readonly db: Statements;
  readonly #listenUrl: string;

  constructor(pool: pg.Pool, listenUrl: string) {
    const dialect = new PostgresDialect({
      pool: { connect: () => mapErrors(() => lend(pool)), end: () => pool.end(), options: {} },
    });
    this.db = new Kysely<Tables>({ dialect }).withSchema("mucast");
    this.#listenUrl = listenUrl;
  }

  write<T>(body: (db: Statements) => Promise<T>): Promise<T> {
    return this.db.transaction().execute(body);
  }

  async insertEvents(db: Statements, events: readonly EventRow[]): Promise<void> {
    const notified = sql`pg_notify(${CHANNEL}, type || ':' || operation_id)`.as("notified");
    await db.insertInto("events").values(events).returning(notified).execute();
  }

  async listen(listener: Listener): Promise<() => Promise<void>> {
    return startListening(this.#listenUrl, listener, async () => {
      await sql`select pg_notify(${CHANNEL}, ${PROBE})`.execute(this.db);
    });
  }

  time(seconds = 0) {
    return sql<Date>`now() + make_interval(secs => ${seconds})`;
  }

  secondsSince(column: string) {
    return sql<number>`greatest(0, extract(epoch from now() - ${sql.ref(column)}))::float8`;
  }

  lock(table: string, others: "wait" | "skip") {
    return sql`for update of ${sql.id(table)} ${sql.raw(others === "skip" ? "skip locked" : "")}`;
  }

  hasAll(column: string, values: readonly string[]) {
    return sql<boolean>`${sql.ref(column)} @> ${JSON.stringify(values)}::jsonb`;
  }

  jsonBytes(column: string) {
    return sql<number>`coalesce(octet_length(${sql.ref(column)}::text), 0)`;
  }

  close(): Promise<void> {
    return this.db.destroy();
  }
}

async function lend(pool: pg.Pool): Promise<PostgresPoolClient> {
  const client = await connectWhenFree(() => pool.connect());
  let isBroken = false;
  const query = (text: string, parameters: readonly unknown[]) =>
    mapErrors(() => client.query(text === "begin" ? BEGIN : text, [...parameters])).catch(
      (error: unknown) => {
        isBroken ||= endsConnection(error);
        throw error;
      },
    );
  return {
    query: query as unknown as PostgresPoolClient["query"],
    release: (isDiscarded) => client.release(isBroken || isDiscarded === true),
  };
}

/** Retries while the server has no free connection, ten seconds at most: other services release theirs within milliseconds. */
async function connectWhenFree<T>(connect: () => Promise<T>): Promise<T> {
  const began = performance.now();
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      if (codeOf(error) !== TOO_MANY_CONNECTIONS || performance.now() - began > TIMES.connect) throw error;
      await pause(20 + 100 * Math.random());
    }
  }
}

/** A notification that a service sends to itself: behind a pooler, LISTEN succeeds and hears nothing. */
const PROBE = "probe:";

/** Over a connection of its own, which reconnects if it breaks. Until the first notification arrives, it asks every second. */
async function startListening(url: string, listener: Listener, probe: () => Promise<void>) {
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let [hears, isClosed] = [false, false];
  const polling = setInterval(() => hears || listener.onMissed(), TIMES.poll);

  async function connect(): Promise<void> {
    const opened = new pg.Client({ ...configOf(url), connectionTimeoutMillis: TIMES.connect });
    client = opened;
    opened.on("notification", ({ payload = "" }) => {
      hears = true;
      if (payload !== PROBE) listener.onNotification(payload);
    });
    for (const event of ["error", "end"] as const) opened.on(event, () => reconnectLater(opened));
    await opened.connect();
    await opened.query(`listen ${CHANNEL}`);
    await probe();
  }

  function reconnectLater(broken: pg.Client): void {
    // Once for each broken client.
    if (isClosed || client !== broken) return;
    client = undefined;
    hears = false;
    broken.end().catch(() => undefined);
    timer = setTimeout(async () => {
      try {
        await connect();
        listener.onMissed();
      } catch {
        if (client) reconnectLater(client);
      }
    }, TIMES.reconnect);
  }

  const close = async () => {
    isClosed = true;
    clearTimeout(timer);
    clearInterval(polling);
    await client?.end();
  };
  try {
    await mapErrors(() => connectWhenFree(connect));
    return close;
  } catch (error) {
    await close();
    throw error;
  }
}

const UNREACHABLE = "the database cannot be reached";
const CONFLICT = "two requests changed the same rows of the database";
const TOO_MANY_CONNECTIONS = "53300";

/** Errors after which a later call may succeed, by the start of their SQLSTATE; the first match counts. */
const PASSING_STATES: readonly (readonly [state: string, message: string])[] = [
  ["08", UNREACHABLE],
  ["25006", "the database is read-only"],
  ["25P03", UNREACHABLE],
  ["40001", CONFLICT],
  ["40P01", CONFLICT],
  [TOO_MANY_CONNECTIONS, "the database has no connection left"],
  ["53", "the database has no room left"],
  ["55P03", "another session holds a lock that the database needs"],
  ["57014", "the database took too long"],
  ["57P0", UNREACHABLE],
];
const PASSING_CODE = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)/;

async function mapErrors<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (cause) {
    const message = passingMessage(cause);
    if (message === undefined) throw cause;
    const code = codeOf(cause);
    const text = code === undefined ? message : `${message} (${code})`;
    throw new MucastError("unavailable", text, { retryAfter: 5 }, { cause });
  }
}

function passingMessage(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof MucastError) return undefined;
  const code = codeOf(error);
  if (code === undefined) return /connect|terminat|timeout/i.test(error.message) ? UNREACHABLE : undefined;
  const known = PASSING_STATES.find(([state]) => code.startsWith(state));
  return known?.[1] ?? (PASSING_CODE.test(code) ? UNREACHABLE : undefined);
}

/** Whether a connection must not be used again: it is broken, still owes an answer, or leads to a standby after a failover. */
function endsConnection(error: unknown): boolean {
  if (!(error instanceof MucastError)) return false;
  const { cause } = error;
  return !(cause instanceof pg.DatabaseError) || /^(08|57P|25P03|25006)/.test(cause.code ?? "");
}
