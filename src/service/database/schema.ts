import { sql } from "kysely";
import { MucastError } from "../../contract/errors/errors.ts";
import { codeOf } from "../../contract/errors/system-error.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { Database } from "./database.ts";
import type { Statements } from "./tables.ts";

/** The version of the tables. Versions 1 to 13 were those of mucast 0.1 and 0.2, on PostgreSQL. */
export const VERSION = 14;
const OLDEST = 13;

/** On large tables it takes minutes, and services that start meanwhile wait for it. */
export async function migrate(database: Database) {
  const began = performance.now();
  const from = await schemaVersion(database);
  if (from > VERSION) throw tooNew(from);
  if (from < VERSION) await database.write((db) => migrateTables(database, db));
  return { from, to: VERSION, seconds: Number(((performance.now() - began) / 1_000).toFixed(1)) };
}

export type Migration = Awaited<ReturnType<typeof migrate>>;

export async function schemaVersion({ kind, db }: Database): Promise<number> {
  const exists =
    kind === "sqlite"
      ? sql<{ found: number }>`select count(*) as found from sqlite_schema where name = 'migrations'`
      : sql<{ found: number }>`select count(to_regclass('mucast.migrations')) as found`;
  const { rows } = await exists.execute(db);
  return rows[0]!.found === 0 ? 0 : await recordedVersion(db);
}

async function recordedVersion(db: Statements): Promise<number> {
  const newest = db.selectFrom("migrations").select(({ fn }) => fn.max("version").as("version"));
  return (await newest.executeTakeFirst())?.version ?? 0;
}

async function migrateTables({ kind }: Database, db: Statements): Promise<void> {
  if (kind === "postgres") await preparePostgres(db);
  const t = kind === "sqlite" ? SQLITE : POSTGRES;
  await run(db, [`create table if not exists ${t.schema}migrations (${t.migrations})`]);
  // Another process may have been faster.
  const from = await recordedVersion(db);
  if (from === VERSION) return;
  if (from > VERSION) throw tooNew(from);
  if (from > 0 && from < OLDEST) {
    const message = `the database has version ${from}; start mucast 0.2.0 on it once, which brings it to version ${OLDEST}, and stop that again`;
    throw new MucastError("unavailable", message, { value: from });
  }
  if (from === OLDEST) await checkNoEarlierService(db);
  await run(db, from === OLDEST ? FROM_13 : tablesOf(t));
  await db.insertInto("migrations").values({ version: VERSION, applied_at: new Date() }).execute();
}

/** The lock of migrations: one program at a time changes the tables. The number is arbitrary. */
const ADVISORY_LOCK = 7_283_115_001;
const LONG_MILLISECONDS = 3_600_000;

async function preparePostgres(db: Statements): Promise<void> {
  // An index on millions of rows takes minutes, and another service may be creating it.
  for (const limit of ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"])
    await sql`set local ${sql.raw(limit)} = ${sql.lit(LONG_MILLISECONDS)}`.execute(db);
  await sql`select pg_advisory_xact_lock(${ADVISORY_LOCK})`.execute(db);
  // `create schema if not exists` needs the right to create one even if it exists.
  const found = await sql`select 1 where to_regnamespace('mucast') is not null`.execute(db);
  if (found.rows.length > 0) return;
  try {
    await sql`create schema mucast`.execute(db);
  } catch (cause) {
    const INSUFFICIENT_PRIVILEGE = "42501";
    if (codeOf(cause) !== INSUFFICIENT_PRIVILEGE) throw cause;
    const message = `the database of DATABASE_URL refuses to create the schema mucast: ${(cause as Error).message}`;
    throw new MucastError("unavailable", message, {}, { cause });
  }
}

async function checkNoEarlierService(db: Statements): Promise<void> {
  const { rows } = await sql<{ held: number }>`select count(*) as held from mucast.operations
    where status = 'Running' and owner is not null and lease_until > now()`.execute(db);
  const { held } = rows[0]!;
  if (held === 0) return;
  const message = `a service of mucast 0.2.0 still runs ${counted(held, "operation")} of this database: stop all services of earlier versions, wait half a minute, and start this one again`;
  throw new MucastError("unavailable", message, { value: held });
}

async function run(db: Statements, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

function tooNew(version: number): MucastError {
  const message =
    `the database has version ${version}, made by a newer mucast; this one knows versions up to ${VERSION}. ` +
    "Start the newer program, or give this one its own database";
  return new MucastError("unavailable", message, { value: version });
}

/** How SQLite writes the columns. It counts in the primary key alone. */
const SQLITE = {
  schema: "",
  migrations: "version integer primary key, applied_at text not null",
  time: "text",
  now: "(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))",
  json: "text",
  /** A list of texts that statements look into. */
  list: "text",
  /** A number that grows with each row, and the column beside it that names the row. */
  serial: "integer primary key autoincrement",
  besideSerial: "text not null unique",
  key: "integer primary key autoincrement",
};

const POSTGRES: typeof SQLITE = {
  schema: "mucast.",
  migrations: "version int primary key, applied_at timestamptz not null default now()",
  // As precise as the times of JavaScript, so that a time that was read finds its row.
  time: "timestamptz(3)",
  now: "now()",
  json: "json",
  list: "jsonb",
  serial: "bigint generated always as identity unique",
  besideSerial: "text primary key",
  key: "bigint generated always as identity primary key",
};

function tablesOf(t: typeof SQLITE): string[] {
  const time = `${t.time} not null default ${t.now}`;
  const list = `${t.list} not null default '[]'`;
  const jsonList = `${t.json} not null default '[]'`;
  const operation = `text not null references ${t.schema}operations (id) on delete cascade`;
  return [
    `create table ${t.schema}operations (
       ordinal ${t.serial}, id ${t.besideSerial},
       ${LEASED},
       caller text not null, space text not null default '', operation text not null,
       feature_url text not null, data_extractor_url text not null, config text not null,
       options ${t.json} not null default '{}', tags ${list}, model text, payload text,
       config_sha256 text not null, idempotency_key text, body_sha256 text not null, traceparent text,
       status text not null default 'NotStarted', not_before ${time},
       lost int not null default 0, losses ${jsonList}, drained_attempt int not null default 0,
       handle text, cancel_requested_at ${t.time},
       created_at ${time}, started_at ${t.time}, attempt_started_at ${t.time}, finished_at ${t.time},
       progress ${t.json}, warnings ${jsonList}, failures ${jsonList},
       warning_counts ${t.json}, failure_counts ${t.json},
       summary ${t.json}, result ${t.json}, error ${t.json},
       last_seq int not null default 0, pruned_seq int not null default 0
     )`,
    `create unique index operations_idempotency on ${t.schema}operations (caller, idempotency_key)
       where idempotency_key is not null`,
    `create index operations_waiting on ${t.schema}operations (ordinal) where status = 'NotStarted'`,
    `create index operations_running on ${t.schema}operations (owner) where status = 'Running'`,
    `create index operations_unended on ${t.schema}operations (caller) where status in ('NotStarted', 'Running')`,
    `create index operations_of_caller on ${t.schema}operations (caller, ordinal desc)`,
    `create index operations_finished on ${t.schema}operations (finished_at) where finished_at is not null`,
    `create table ${t.schema}events (
       operation_id ${operation}, seq int not null,
       type text not null, data ${t.json} not null, created_at ${time},
       primary key (operation_id, seq)
     )`,
    `create table ${t.schema}webhook_deliveries (
       id ${t.key}, operation_id ${operation}, seq int not null, target text not null,
       ${LEASED},
       next_at ${time}, delivered_at ${t.time}, failed_at ${t.time}, last_error text
     )`,
    `create index webhook_deliveries_due on ${t.schema}webhook_deliveries (next_at)
       where delivered_at is null and failed_at is null`,
    `create index webhook_deliveries_of_operation on ${t.schema}webhook_deliveries (operation_id)`,
    `create index webhook_deliveries_held on ${t.schema}webhook_deliveries (owner) where owner is not null`,
    `create table ${t.schema}api_keys (
       id text primary key, name text not null, hash text not null, subject text not null,
       scopes ${t.list} not null, created_at ${time}, revoked_at ${t.time}, last_used_at ${t.time}
     )`,
    `create table ${t.schema}blobs (
       caller text not null, name text not null, space text not null default '',
       bytes bigint, contents ${t.json}, created_at ${time},
       state text not null default 'stored', removed_at ${t.time},
       primary key (caller, name)
     )`,
    `create unique index blobs_place on ${t.schema}blobs (space, name)`,
    `create index blobs_removed on ${t.schema}blobs (removed_at) where removed_at is not null`,
    `create index blobs_of_caller on ${t.schema}blobs (caller, created_at desc, name desc)`,
    `create table ${t.schema}blob_usage (
       caller text primary key, served_at ${t.time},
       bytes bigint not null default 0, blobs bigint not null default 0
     )`,
    `create table ${t.schema}report_links (
       ordinal ${t.serial}, hash ${t.besideSerial}, caller text not null,
       operation_id ${operation}, further_ids ${list}, expires_at ${t.time} not null
     )`,
    `create index report_links_of_caller on ${t.schema}report_links (caller, ordinal)`,
    `create index report_links_of_operation on ${t.schema}report_links (operation_id)`,
    `create table ${t.schema}first_oidc_issuer (is_only boolean primary key default true check (is_only), issuer text not null)`,
    ...tablesSince14(t),
  ];
}

const LEASED = "owner text, beat int not null default 0, attempt int not null default 0";

function tablesSince14(t: typeof SQLITE): string[] {
  const time = `${t.time} not null default ${t.now}`;
  return [
    `create table ${t.schema}tracking (
       id text primary key references ${t.schema}operations (id) on delete cascade, ${LEASED}, next_at ${time}
     )`,
    `create table ${t.schema}readiness (id int primary key, checked_at ${time})`,
  ];
}

/** PostgreSQL from the last version of 0.2.0. */
const FROM_13: readonly string[] = [
  "drop index mucast.operations_running",
  `alter table mucast.operations
     add column beat int not null default 0, drop column lease_until,
     alter column tags drop default, alter column tags type jsonb using to_jsonb(tags), alter column tags set default '[]',
     alter column created_at type timestamptz(3) using date_trunc('milliseconds', created_at),
     alter column finished_at type timestamptz(3) using date_trunc('milliseconds', finished_at)`,
  "create index operations_running on mucast.operations (owner) where status = 'Running'",
  "alter table mucast.webhook_deliveries rename column attempts to attempt",
  "alter table mucast.webhook_deliveries add column owner text, add column beat int not null default 0",
  "create index webhook_deliveries_held on mucast.webhook_deliveries (owner) where owner is not null",
  `alter table mucast.api_keys alter column scopes type jsonb using to_jsonb(scopes),
     alter column created_at type timestamptz(3) using date_trunc('milliseconds', created_at)`,
  `alter table mucast.report_links
     alter column further_ids drop default, alter column further_ids type jsonb using to_jsonb(further_ids),
     alter column further_ids set default '[]'`,
  `alter table mucast.blobs add column state text not null default 'stored',
     alter column created_at type timestamptz(3) using date_trunc('milliseconds', created_at)`,
  `update mucast.blobs set state = case when removed_at = 'infinity' then 'reserved' else 'removing' end,
     removed_at = case when removed_at = 'infinity' then now() else removed_at end
   where removed_at is not null`,
  "drop index mucast.blobs_unmeasured",
  "drop table mucast.blob_uploads",
  "alter table mucast.blob_usage add column served_at timestamptz(3)",
  ...tablesSince14(POSTGRES),
];
