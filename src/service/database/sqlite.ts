import { chmodSync, existsSync } from "node:fs";
import { link, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { Kysely, type SqliteDatabase, SqliteDialect, type SqliteStatement, sql } from "kysely";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import type { Database, EventRow, Listener } from "./database.ts";
import { JSON_COLUMNS, type Statements, type Tables } from "./tables.ts";

/** How long a statement may wait for another process, which blocks this one; then it waits in the event loop. */
const BUSY_MILLISECONDS = 5;
const MAX_WAIT_MILLISECONDS = 10_000;
/** How often the commits of other processes are looked for. */
const POLL_MILLISECONDS = 500;

export function sqliteFile(dataDir: string): string {
  return join(dataDir, "mucast.db");
}

export function requireSqlite(dataDir: string): string {
  const path = sqliteFile(dataDir);
  if (existsSync(path)) return path;
  checkNotEarlier(dataDir);
  throw new MucastError("invalid_request", `there is no ${path}`, { path });
}

/** What was committed survives a loss of power. The folder is on a disk of this machine: SQLite's shared memory needs that. */
export function openSqlite(dataDir: string): Database {
  const isNew = !existsSync(sqliteFile(dataDir));
  if (isNew) checkNotEarlier(dataDir);
  const writer = openFile(dataDir, isNew);
  const reader = openFile(dataDir, false);
  reader.exec("pragma query_only = on");
  return new EmbeddedDatabase(writer, reader);
}

function openFile(dataDir: string, isNew: boolean): DatabaseSync {
  const file = sqliteFile(dataDir);
  try {
    if (isNew) makeFolder(dataDir, 0o700);
    const database = new DatabaseSync(file, { timeout: MAX_WAIT_MILLISECONDS });
    if (isNew) chmodSync(file, 0o600);
    // The first one waits while another process creates the file.
    database.exec("pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on");
    database.exec(`pragma busy_timeout = ${BUSY_MILLISECONDS}`);
    return database;
  } catch (cause) {
    const reason = codeOf(cause) === "ERR_SQLITE_ERROR" ? (cause as Error).message : causeOf(cause);
    const message = `the database ${file} cannot be ${isNew ? "created" : "opened"}: ${reason}. Run this as the user of the data folder, on a disk of this machine`;
    throw new MucastError(isNew ? "output_failed" : "unavailable", message, { path: file }, { cause });
  }
}

/** Versions up to 0.2.0 had an embedded PostgreSQL. */
function checkNotEarlier(dataDir: string): void {
  const path = join(dataDir, "database");
  if (!existsSync(join(path, "PG_VERSION"))) return;
  const message =
    `${path} is the database of mucast 0.2.0 or earlier, which this version cannot read: start mucast 0.2.0 on it, ` +
    "or give this one another --data-dir. Blobs and outputs can be copied (docs/deploying.md)";
  throw new MucastError("unavailable", message, { path });
}

class EmbeddedDatabase implements Database {
  readonly kind = "sqlite";
  readonly db: Statements;
  readonly #writer: Statements;
  /** Sees the commits of other processes as news, and its own not. */
  readonly #connection: DatabaseSync;
  readonly #listeners = new Set<Listener>();
  #last: Promise<unknown> = Promise.resolve();
  #notifications: string[] = [];

  constructor(writer: DatabaseSync, reader: DatabaseSync) {
    this.db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: connectionOf(reader, false) }) });
    this.#writer = new Kysely<Tables>({
      dialect: new SqliteDialect({ database: connectionOf(writer, true) }),
    });
    this.#connection = writer;
  }

  async write<T>(body: (db: Statements) => Promise<T>): Promise<T> {
    const transaction = this.#last.then(() => this.#transact(body));
    this.#last = transaction.catch(() => undefined);
    const { result, notifications } = await transaction;
    for (const payload of notifications)
      for (const listener of this.#listeners) listener.onNotification(payload);
    return result;
  }

  async #transact<T>(body: (db: Statements) => Promise<T>) {
    await this.#begin();
    this.#notifications = [];
    try {
      const result = await body(this.#writer);
      mapErrors(() => this.#connection.exec("commit"));
      return { result, notifications: this.#notifications };
    } finally {
      // SQLite has already rolled back after errors such as a full disk.
      if (this.#connection.isTransaction) this.#connection.exec("rollback");
    }
  }

  /** Begins as a writer: a transaction that reads first would fail after the commit of another process. */
  async #begin(): Promise<void> {
    const began = performance.now();
    for (;;) {
      try {
        this.#connection.exec("begin immediate");
        return;
      } catch (error) {
        const isLate = performance.now() - began > MAX_WAIT_MILLISECONDS;
        if (sqliteCode(error) !== BUSY || isLate) throw mapError(error);
      }
      await pause(1 + 2 * Math.random());
    }
  }

  async insertEvents(db: Statements, events: readonly EventRow[]): Promise<void> {
    await db.insertInto("events").values(events).execute();
    this.#notifications.push(...events.map(({ type, operation_id }) => `${type}:${operation_id}`));
  }

  async listen(listener: Listener): Promise<() => Promise<void>> {
    const statement = this.#connection.prepare("pragma data_version");
    const version = () => {
      try {
        return statement.get()!.data_version;
      } catch {
        // The disk cannot be used now: the listener's own statements say so, or succeed. This differs from itself.
        return Number.NaN;
      }
    };
    let seen = version();
    const timer = setInterval(() => {
      const before = seen;
      seen = version();
      if (seen !== before) listener.onMissed();
    }, POLL_MILLISECONDS);
    this.#listeners.add(listener);
    return async () => {
      clearInterval(timer);
      this.#listeners.delete(listener);
    };
  }

  time(seconds = 0) {
    return sql<Date>`strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ${`${seconds} seconds`})`;
  }

  secondsSince(column: string) {
    return sql<number>`max(0, (julianday('now') - julianday(${sql.ref(column)})) * 86400)`;
  }

  lock() {
    return sql``;
  }

  hasAll(column: string, values: readonly string[]) {
    return sql<boolean>`not exists (select 1 from json_each(${JSON.stringify(values)}) as wanted
      where wanted.value not in (select value from json_each(${sql.ref(column)})))`;
  }

  jsonBytes(column: string) {
    return sql<number>`coalesce(octet_length(${sql.ref(column)}), 0)`;
  }

  async close(): Promise<void> {
    await this.db.destroy();
    await this.#writer.destroy();
  }
}

/** Gives Kysely a connection of Node's SQLite, with times and JSON as texts. */
function connectionOf(database: DatabaseSync, isWriter: boolean): SqliteDatabase {
  return {
    close: () => database.close(),
    prepare: (text) =>
      mapErrors((): SqliteStatement => {
        // SQLite has rolled back by itself, as on a full disk: this statement would be committed alone.
        if (isWriter && !database.isTransaction)
          throw new MucastError("unavailable", UNUSABLE, { retryAfter: 5 });
        const statement = database.prepare(text);
        return {
          reader: statement.columns().length > 0,
          all: (parameters) => mapErrors(() => statement.all(...parameters.map(encode)).map(decode)),
          run: (parameters) => mapErrors(() => statement.run(...parameters.map(encode))),
          iterate: (parameters) => statement.iterate(...parameters.map(encode)),
        };
      }),
  };
}

function encode(value: unknown): SQLInputValue {
  if (value instanceof Date) return value.toISOString();
  return (typeof value === "boolean" ? Number(value) : value) as SQLInputValue;
}

function decode(stored: Record<string, unknown>): Record<string, unknown> {
  const row = { ...stored };
  for (const [column, value] of Object.entries(row)) {
    if (typeof value !== "string") continue;
    if (column.endsWith("_at") || column === "not_before") row[column] = new Date(value);
    else if (JSON_COLUMNS.has(column)) row[column] = JSON.parse(value);
  }
  return row;
}

const UNUSABLE = "the database cannot be used: look at the disk of the data folder";
const BUSY = 5;
/** SQLite's codes of a disk, a file or a lock that may be usable later: BUSY, LOCKED, READONLY, IOERR, FULL, CANTOPEN. */
const PASSING = new Set([BUSY, 6, 8, 10, 13, 14]);

function sqliteCode(error: unknown): number {
  if (codeOf(error) !== "ERR_SQLITE_ERROR") return 0;
  // Extended codes have the code in their lowest byte.
  return (error as { errcode: number }).errcode & 0xff;
}

function mapErrors<T>(body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw mapError(error);
  }
}

function mapError(cause: unknown): unknown {
  const code = sqliteCode(cause);
  if (!PASSING.has(code)) return cause;
  const message = code === BUSY ? "another process writes to the database" : UNUSABLE;
  return new MucastError("unavailable", message, { retryAfter: 5 }, { cause });
}

/** Copies the database as it is at this moment, while services write. The file has its name once it is complete and on the disk. */
export async function backUpSqlite(dataDir: string, file: string): Promise<void> {
  const source = requireSqlite(dataDir);
  const exists = new MucastError("invalid_request", `${file} exists already; give a new file`, {
    path: file,
  });
  if (existsSync(file)) throw exists;
  const draft = `${file}.${process.pid}.tmp`;
  try {
    // Its owner alone may read it, like the database.
    await (await open(draft, "wx", 0o600)).close();
    const database = new DatabaseSync(source, { timeout: MAX_WAIT_MILLISECONDS });
    try {
      database.prepare("vacuum into ?").run(draft);
    } finally {
      database.close();
    }
    await sync(draft);
    // A link, unlike a rename, replaces nothing.
    await link(draft, file);
    await sync(dirname(file));
  } catch (cause) {
    if (codeOf(cause) === "EEXIST") throw exists;
    const message = `the backup ${file} could not be written: ${causeOf(cause)}`;
    throw new MucastError("output_failed", message, { path: file }, { cause });
  } finally {
    await rm(draft, { force: true });
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
