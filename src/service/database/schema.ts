/** The tables, as numbered steps: step n brings version n - 1 to n. A step that was released is never changed. */
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
];
