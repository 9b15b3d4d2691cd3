import pg from "pg";
import { MucastError } from "../../contract/errors.ts";
import type { Database, Queryable } from "./database.ts";
import { listenOn } from "./listener.ts";

const POOL = {
  max: 10,
  connectionTimeoutMillis: 5_000,
  idleTimeoutMillis: 30_000,
  keepAlive: true,
  // Of a server that went without a word the system hears nothing for a quarter of an hour; leases last 20 s.
  query_timeout: 15_000,
} as const;

/** A PostgreSQL server, which several services may share. @param url `postgresql://…`; it is shown nowhere. */
export async function openPostgres(url: string): Promise<Database> {
  const config = {
    connectionString: url,
    application_name: "mucast",
    options: "-c search_path=mucast,public",
  };
  checkUrl(config);
  const pool = new pg.Pool({ ...config, ...POOL });
  // A connection that breaks while it is idle is replaced by the next one; the statement that needs it tells.
  pool.on("error", () => undefined);
  const database: Database = {
    kind: "postgres",
    query: (text, params) => reaching(() => run(pool, text, params)),
    exec: (text) => reaching(async () => void (await pool.query(text))),
    transaction: (body) => reaching(() => transaction(pool, body)),
    listen: (channel, told, missed) => listenOn(config, channel, told, missed),
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

async function run<T>(client: pg.Pool | pg.PoolClient, text: string, params?: readonly unknown[]) {
  const { rows } = await client.query(text, params && [...params]);
  return { rows: rows as T[] };
}

async function transaction<T>(pool: pg.Pool, body: (statements: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onError = (error: Error) => {
    broken = error;
  };
  client.on("error", onError);
  try {
    await client.query("begin");
    const result = await body({ query: (text, params) => run(client, text, params) });
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch((cause: Error) => {
      broken ??= cause;
    });
    throw error;
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}

/** SQLSTATE classes of a server that is going, coming or out of reach, and of conflicts that pass. */
const PASSING_STATE = /^(08|53|57P0|40001|40P01)/;
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
