import type { SubmittedOperation } from "../../contract/config/job-operations.ts";
import type { PayloadOptions } from "../../contract/config/payload-schemas.ts";
import type { Database, Queryable } from "../database/database.ts";
import { overQuota, type Quota } from "./blob-quota.ts";
import type { StorageKey, Usage } from "./blob-records.ts";
import { appendEvents, type WebhookTypes } from "./events.ts";
import type { OperationRow } from "./operation-rows.ts";

interface NewOperation {
  readonly id: string;
  readonly caller: string;
  /** The caller's space of the storage. */
  readonly space: string;
  readonly operation: SubmittedOperation;
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  readonly config: string;
  /** Its `tags` are also stored as a column, which outlives the options. */
  readonly options: PayloadOptions;
  readonly configSha256: string;
  /** Of the config. */
  readonly model: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Digest of the operation's name and the canonical body. */
  readonly bodySha256: string;
  readonly traceparent: string | undefined;
  /** JSON text of the payload without secrets, kept after the end. */
  readonly payload: string;
  /** Recorded blobs among its inputs. */
  readonly blobs: readonly StorageKey[];
}

/** The limits of one caller. */
interface Allowance {
  /** Operations that wait to start. */
  readonly queued: number;
  readonly quota: Quota;
}

export type Inserted =
  | { readonly kind: "created" | "exists"; readonly row: OperationRow }
  | { readonly kind: "conflict" }
  | { readonly kind: "full" }
  | { readonly kind: "over quota"; readonly used: Usage }
  /** An input was removed after the payload was checked. */
  | { readonly kind: "missing"; readonly blob: StorageKey };

/**
 * Stores an operation, its idempotency key and its first event in one transaction. If submissions with one key run concurrently, one
 * creates the operation; the others wait for it and get the same.
 */
export function insertOperation(
  database: Database,
  operation: NewOperation,
  allowance: Allowance,
  webhooks: WebhookTypes,
): Promise<Inserted> {
  return database.transaction(async (statements) => {
    // Locks the caller's usage, so no other submission of the caller is open.
    const used = await overQuota(statements, operation.caller, allowance.quota);
    // A read, since an insert would wait for a transaction that ends the key's operation and itself waits for the usage.
    const before = await sameKey(statements, operation);
    if (before) return before;
    if (used) return { kind: "over quota", used };
    const blob = await missingOf(statements, operation);
    if (blob) return { kind: "missing", blob };
    const row = await insert(statements, operation, allowance.queued);
    if (!row) return { kind: "full" };
    const queued = { type: "queued", data: { operation: row.operation } } as const;
    await appendEvents(statements, row.id, [queued], webhooks);
    return { kind: "created", row };
  });
}

/** The first input without a record. Locks the records of the others, so that no removal takes them before the transaction ends. */
async function missingOf(
  statements: Queryable,
  { caller, blobs }: NewOperation,
): Promise<StorageKey | undefined> {
  for (const blob of blobs) {
    const { rows } = await statements.query(
      `select 1 from blobs where caller = $1 and name = $2 and space = $3 and removed_at is null for key share`,
      [caller, blob.name, blob.space],
    );
    if (rows.length === 0) return blob;
  }
  return undefined;
}

/** @returns undefined if too many operations of the caller are queued. */
async function insert(
  statements: Queryable,
  o: NewOperation,
  queuedMost: number,
): Promise<OperationRow | undefined> {
  const { rows } = await statements.query<OperationRow>(
    `insert into operations (id, caller, operation, feature_url, data_extractor_url, config, config_sha256,
       idempotency_key, body_sha256, traceparent, space, options, tags, model, payload)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $12, $13::json, $14::text[], $15, $16
     where (select count(*) from operations where caller = $2 and status = 'NotStarted') < $11::int
     returning *`,
    [
      o.id,
      o.caller,
      o.operation,
      o.featureUrl,
      o.dataExtractorUrl,
      o.config,
      o.configSha256,
      o.idempotencyKey ?? null,
      o.bodySha256,
      o.traceparent ?? null,
      queuedMost,
      o.space,
      JSON.stringify(o.options),
      o.options.tags ?? [],
      o.model ?? null,
      o.payload,
    ],
  );
  return rows[0];
}

/** The earlier operation of the idempotency key; undefined without a key, or for a new one. */
export async function sameKey(
  statements: Queryable,
  operation: Pick<NewOperation, "caller" | "idempotencyKey" | "bodySha256">,
): Promise<Inserted | undefined> {
  if (operation.idempotencyKey === undefined) return undefined;
  const { rows } = await statements.query<OperationRow>(
    "select * from operations where caller = $1 and idempotency_key = $2",
    [operation.caller, operation.idempotencyKey],
  );
  const row = rows[0];
  if (!row) return undefined;
  return row.body_sha256 === operation.bodySha256 ? { kind: "exists", row } : { kind: "conflict" };
}
