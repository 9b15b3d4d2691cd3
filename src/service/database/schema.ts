import { MucastError } from "../../contract/errors/errors.ts";
import { codeOf } from "../../contract/errors/system-error.ts";
import type { Database, Queryable } from "./database.ts";

/** The lock of migrations: one program at a time changes the tables. The number is arbitrary. */
const ADVISORY_LOCK = 7_283_115_001;

/**
 * Brings the tables to this program's version with numbered steps, forward only, in one transaction. On large tables a step takes
 * minutes, and services that start meanwhile wait for it.
 * @param version of the tables of a dump, into which its rows fit.
 * @returns the version before; 0 for a new database.
 * @throws MucastError unavailable if a newer program has migrated the tables.
 */
export function migrate(database: Database, version = MIGRATIONS.length): Promise<number> {
  return database.transaction(async (statements) => {
    await statements.query("select pg_advisory_xact_lock($1)", [ADVISORY_LOCK]);
    await createSchema(statements);
    await statements.query(
      "create table if not exists mucast.migrations (version int primary key, applied_at timestamptz not null default now())",
    );
    const { rows } = await statements.query<{ version: number | null }>(
      "select max(version) as version from mucast.migrations",
    );
    const done = rows[0]?.version ?? 0;
    if (done > MIGRATIONS.length) throw tooNew(done);
    for (const [index, steps] of MIGRATIONS.entries()) {
      if (index < done || index >= version) continue;
      for (const step of steps) await statements.query(step);
      await statements.query("insert into mucast.migrations (version) values ($1)", [index + 1]);
    }
    return done;
  }, "long");
}

/**
 * Creates the schema if there is none: `create schema if not exists` needs the right to create one even then.
 * @throws MucastError unavailable if the user of the database may not create one.
 */
async function createSchema(statements: Queryable): Promise<void> {
  const { rows } = await statements.query<{ exists: boolean }>(
    "select to_regnamespace('mucast') is not null as exists",
  );
  if (rows[0]!.exists) return;
  try {
    await statements.query("create schema mucast");
  } catch (cause) {
    if (codeOf(cause) !== INSUFFICIENT_PRIVILEGE) throw cause;
    const message = `the database of DATABASE_URL refuses to create the schema mucast: ${(cause as Error).message}`;
    throw new MucastError("unavailable", message, {}, { cause });
  }
}

/** A code of PostgreSQL. */
const INSUFFICIENT_PRIVILEGE = "42501";

/** The version of the tables; 0 for a new database. Changes nothing. */
export async function schemaVersion(statements: Queryable): Promise<number> {
  const { rows: found } = await statements.query<{ exists: boolean }>(
    "select to_regclass('mucast.migrations') is not null as exists",
  );
  if (!found[0]!.exists) return 0;
  const { rows } = await statements.query<{ version: number | null }>(
    "select max(version) as version from mucast.migrations",
  );
  return rows[0]!.version ?? 0;
}

function tooNew(version: number): MucastError {
  return new MucastError(
    "unavailable",
    `the database has version ${version}, made by a newer mucast; this one knows versions up to ${MIGRATIONS.length}. ` +
      "Start the newer program, or give this one its own database",
    { value: version },
  );
}

/**
 * The tables, as numbered steps: step n brings version n - 1 to n. A released step never changes. No step drops or renames what the
 * version before uses: during an update, its services run beside the first new one. (So `blob_uploads`, which nothing uses any more, stays.)
 */
export const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `create table mucast.operations (
       id text primary key,
       ordinal bigint generated always as identity unique,
       caller text not null,
       operation text not null,
       feature_url text not null,
       data_extractor_url text not null,
       config text not null,
       config_sha256 text not null,
       idempotency_key text,
       body_sha256 text not null,
       traceparent text,
       status text not null default 'NotStarted',
       attempt int not null default 0,
       lost int not null default 0,
       not_before timestamptz not null default now(),
       owner text,
       lease_until timestamptz,
       handle text,
       cancel_requested_at timestamptz,
       created_at timestamptz not null default now(),
       started_at timestamptz,
       attempt_started_at timestamptz,
       finished_at timestamptz,
       progress json,
       warnings json not null default '[]',
       result json,
       error json,
       last_seq int not null default 0,
       pruned_seq int not null default 0
     )`,
    `create unique index operations_idempotency on mucast.operations (caller, idempotency_key)
       where idempotency_key is not null`,
    "create index operations_waiting on mucast.operations (ordinal) where status = 'NotStarted'",
    "create index operations_running on mucast.operations (lease_until) where status = 'Running'",
    "create index operations_of_caller on mucast.operations (caller, ordinal desc)",
    "create index operations_finished on mucast.operations (finished_at) where finished_at is not null",
    `create table mucast.events (
       operation_id text not null references mucast.operations (id) on delete cascade,
       seq int not null,
       type text not null,
       data json not null,
       created_at timestamptz not null default now(),
       primary key (operation_id, seq)
     )`,
    `create table mucast.webhook_deliveries (
       id bigint generated always as identity primary key,
       operation_id text not null references mucast.operations (id) on delete cascade,
       seq int not null,
       target text not null,
       attempts int not null default 0,
       next_at timestamptz not null default now(),
       delivered_at timestamptz,
       failed_at timestamptz,
       last_error text
     )`,
    `create index webhook_deliveries_due on mucast.webhook_deliveries (next_at)
       where delivered_at is null and failed_at is null`,
    "create index webhook_deliveries_of_operation on mucast.webhook_deliveries (operation_id)",
    `create table mucast.api_keys (
       id text primary key,
       name text not null,
       hash text not null,
       subject text not null,
       scopes text[] not null,
       created_at timestamptz not null default now(),
       revoked_at timestamptz,
       last_used_at timestamptz
     )`,
    `create table mucast.blobs (
       name text primary key,
       caller text not null,
       created_at timestamptz not null default now()
     )`,
  ],
  [
    "alter table mucast.operations add column failures json not null default '[]'",
    "alter table mucast.operations add column warning_counts json",
    "alter table mucast.operations add column failure_counts json",
  ],
  // Every caller gets a space of the storage, empty for blobs at its root, and a quota.
  [
    "alter table mucast.operations add column space text not null default ''",
    `create index operations_unended on mucast.operations (caller)
       where status in ('NotStarted', 'Running')`,
    `insert into mucast.blobs (name, caller)
       select (case operation when 'run_ml_job' then 'ml' else 'nn' end) || '_engine_' || id || '.json', caller
       from mucast.operations where status = 'Succeeded'
       on conflict (name) do nothing`,
    "alter table mucast.blobs drop constraint blobs_pkey",
    "alter table mucast.blobs add primary key (caller, name)",
    "alter table mucast.blobs add column space text not null default ''",
    // `bytes` is null until it is read from the storage; `removed_at` is set until the storage has removed the blob.
    "alter table mucast.blobs add column bytes bigint",
    "alter table mucast.blobs add column removed_at timestamptz",
    "create unique index blobs_place on mucast.blobs (space, name)",
    "create index blobs_unmeasured on mucast.blobs (caller) where bytes is null",
    "create index blobs_removed on mucast.blobs (removed_at) where removed_at is not null",
    `create table mucast.blob_usage (
       caller text primary key,
       bytes bigint not null default 0,
       blobs bigint not null default 0
     )`,
    `insert into mucast.blob_usage (caller, blobs)
       select caller, count(*) from mucast.blobs group by caller`,
    // An upload in progress, with its reserved bytes.
    `create table mucast.blob_uploads (
       id text primary key,
       caller text not null,
       name text not null,
       space text not null,
       bytes bigint not null,
       lease_until timestamptz not null
     )`,
    "create index blob_uploads_of_caller on mucast.blob_uploads (caller, name)",
  ],
  // The members of a payload besides its inputs and its config.
  ["alter table mucast.operations add column options json not null default '{}'"],
  // Links to reports, each removed when it is used. `hash` is that of its token.
  [
    `create table mucast.report_links (
       hash text primary key,
       ordinal bigint generated always as identity,
       caller text not null,
       operation_id text not null references mucast.operations (id) on delete cascade,
       expires_at timestamptz not null
     )`,
    "create index report_links_of_caller on mucast.report_links (caller, ordinal)",
    "create index report_links_of_operation on mucast.report_links (operation_id)",
    "create index report_links_expired on mucast.report_links (expires_at)",
  ],
  // The issuer of the callers `oidc:<sub>`, in one row. Callers of another issuer name theirs.
  [
    `create table mucast.first_oidc_issuer (
       is_only boolean primary key default true check (is_only),
       issuer text not null
     )`,
  ],
  // The newest attempt that ran while its service drained, and every lost attempt with its cause.
  [
    "alter table mucast.operations add column drained_attempt int not null default 0",
    "alter table mucast.operations add column losses json not null default '[]'",
  ],
  // What the forecasts of a job are worth.
  ["alter table mucast.operations add column summary json"],
  // Tags outlive the options of an operation, so that a caller finds it by them after it has ended.
  ["alter table mucast.operations add column tags text[] not null default '{}'"],
  // The name of the model or the network, likewise. Operations of earlier versions have none.
  ["alter table mucast.operations add column model text"],
  // The operations of a link after the first. A service of an earlier version opens the report of the first alone.
  ["alter table mucast.report_links add column further_ids text[] not null default '{}'"],
  // The payload without secrets, so that its caller can submit it again after the end. Operations of earlier versions have none.
  ["alter table mucast.operations add column payload text"],
  // What is known of a blob's contents, and the order in which a list shows the blobs of a caller.
  [
    "alter table mucast.blobs add column contents json",
    "create index blobs_of_caller on mucast.blobs (caller, created_at desc, name desc)",
  ],
];
