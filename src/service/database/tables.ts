import type { ColumnType, Generated, Kysely, Selectable } from "kysely";
import type { OperationStatus, OperationView } from "../../contract/api/operation-view.ts";
import type { BlobContents } from "../../contract/api/prepared-blobs.ts";
import type { StoredEvent, StoredEventType } from "../../contract/api/stored-event.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";
import type { PayloadOptions } from "../../contract/config/payload-schemas.ts";
import type { RunSummary } from "../../contract/output/job-events.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Failure, Problem } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { CodeCounts } from "../../contract/schema/answer-limits.ts";

/** Written as JSON text and read as an object: `json` in PostgreSQL, which keeps a NUL in a text that `jsonb` refuses; text in SQLite. */
type Json<T> = ColumnType<T, string, string>;
type DefaultJson<T> = ColumnType<T, string | undefined, string>;
type Time = ColumnType<Date, Date | undefined, Date>;
type OptionalTime = ColumnType<Date | null, Date | null | undefined, Date | null>;

/** What the rows have that one service at a time works on; see leases.ts. */
interface Leased {
  owner: string | null;
  beat: Generated<number>;
  /** Counts the claims. It fences a service that has lost the row. */
  attempt: Generated<number>;
}

export interface Loss {
  readonly attempt: number;
  /** `service`: the whole service ended. `execution`: the job's own process or container ended. */
  readonly with: "service" | "execution";
  readonly reason: string;
}

export interface Tables {
  operations: Leased & {
    id: string;
    ordinal: Generated<number>;
    caller: string;
    space: string;
    operation: SubmittedOperation;
    feature_url: string;
    data_extractor_url: string;
    config: string;
    /** The payload without the three members above; URLs as storage paths if they are the service's own. Empty after it has ended. */
    options: Json<PayloadOptions>;
    tags: Json<readonly string[]>;
    model: string | null;
    /** JSON text of the payload without secrets, which is kept after the end. Null for operations of versions before 0.2.0. */
    payload: string | null;
    config_sha256: string;
    idempotency_key: string | null;
    body_sha256: string;
    traceparent: string | null;
    status: Generated<OperationStatus>;
    not_before: Time;
    lost: Generated<number>;
    losses: DefaultJson<readonly Loss[]>;
    /** The newest attempt that ran while its service drained; 0 if none did. If that attempt is lost, the loss does not count. */
    drained_attempt: Generated<number>;
    /** Names the execution of the attempt to its executor. */
    handle: string | null;
    cancel_requested_at: OptionalTime;
    created_at: Time;
    started_at: OptionalTime;
    attempt_started_at: OptionalTime;
    finished_at: OptionalTime;
    progress: Json<NonNullable<OperationView["progress"]>> | null;
    warnings: DefaultJson<readonly Warning[]>;
    failures: DefaultJson<readonly Failure[]>;
    /** Counts of all warnings and failures of the newest attempt that reported any. */
    warning_counts: Json<CodeCounts> | null;
    failure_counts: Json<CodeCounts> | null;
    summary: Json<RunSummary> | null;
    result: Json<ResultRecord> | null;
    error: Json<Problem> | null;
    last_seq: Generated<number>;
    /** The newest event that is no longer stored; 0 if all are. */
    pruned_seq: Generated<number>;
  };
  events: {
    operation_id: string;
    seq: number;
    type: StoredEventType;
    data: Json<StoredEvent["data"]>;
    created_at: Time;
  };
  webhook_deliveries: Leased & {
    id: Generated<number>;
    operation_id: string;
    seq: number;
    target: string;
    next_at: Time;
    delivered_at: OptionalTime;
    failed_at: OptionalTime;
    last_error: string | null;
  };
  /** Outputs that are still to be recorded by the tracker. `id` is that of the operation. */
  tracking: Leased & { id: string; next_at: Time };
  api_keys: {
    id: string;
    name: string;
    hash: string;
    subject: string;
    scopes: Json<readonly string[]>;
    created_at: Time;
    revoked_at: OptionalTime;
    last_used_at: OptionalTime;
  };
  blobs: {
    caller: string;
    name: string;
    space: string;
    bytes: number | null;
    contents: Json<BlobContents> | null;
    created_at: Time;
    /** `reserved`: its first bytes are still to come. `removing`: a removal hides it until the storage has removed its bytes. */
    state: Generated<"stored" | "reserved" | "removing">;
    removed_at: OptionalTime;
  };
  /** One row per caller: what the caller has stored, and when a job of the caller last started. */
  blob_usage: { caller: string; bytes: Generated<number>; blobs: Generated<number>; served_at: OptionalTime };
  report_links: {
    hash: string;
    ordinal: Generated<number>;
    caller: string;
    operation_id: string;
    further_ids: Json<readonly string[]>;
    expires_at: Time;
  };
  /** The issuer of the callers `oidc:<sub>`, in one row. Callers of another issuer name theirs. */
  first_oidc_issuer: { is_only: Generated<boolean>; issuer: string };
  readiness: { id: number; checked_at: Time };
  migrations: { version: number; applied_at: Time };
}

export type OperationRow = Selectable<Tables["operations"]>;

export type Statements = Kysely<Tables>;

/** Columns that SQLite stores as JSON text. */
export const JSON_COLUMNS: ReadonlySet<string> = new Set(
  (
    "options tags losses progress warnings failures warning_counts failure_counts summary result error " +
    "data scopes contents further_ids"
  ).split(" "),
);
