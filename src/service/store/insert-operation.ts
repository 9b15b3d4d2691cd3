import type { Operation } from "../../contract/operation-view.ts";
import type { Database, Queryable } from "../database/database.ts";
import { appendEvents } from "./events.ts";
import type { OperationRow } from "./operation-row.ts";
import type { WebhookTypes } from "./webhook-types.ts";

export interface NewOperation {
  readonly id: string;
  readonly caller: string;
  readonly operation: Operation;
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  readonly config: string;
  readonly configSha256: string;
  readonly idempotencyKey: string | undefined;
  /** Of operation and canonical body. */
  readonly bodySha256: string;
  readonly traceparent: string | undefined;
}

export type Inserted =
  | { readonly kind: "created" | "exists"; readonly row: OperationRow }
  | { readonly kind: "conflict" }
  | { readonly kind: "full" };

/**
 * Stores an operation, its idempotency key and its first event in one transaction. Of several with one key at the
 * same moment one is created, and the others wait for it and give the same.
 * @param queuedMost how many of the caller's operations may wait to start.
 */
export function insertOperation(
  database: Database,
  operation: NewOperation,
  queuedMost: number,
  webhooks: WebhookTypes,
): Promise<Inserted> {
  return database.transaction(async (statements) => {
    const row = await insert(statements, operation, queuedMost);
    if (!row) return (await sameKey(statements, operation)) ?? { kind: "full" };
    const queued = { type: "queued", data: { operation: row.operation } } as const;
    await appendEvents(statements, row.id, [queued], webhooks);
    return { kind: "created", row };
  });
}

/** Undefined where the key is taken, or too many of the caller's operations wait. */
async function insert(
  statements: Queryable,
  o: NewOperation,
  queuedMost: number,
): Promise<OperationRow | undefined> {
  const { rows } = await statements.query<OperationRow>(
    `insert into operations (id, caller, operation, feature_url, data_extractor_url, config, config_sha256,
       idempotency_key, body_sha256, traceparent)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
     where (select count(*) from operations where caller = $2 and status = 'NotStarted') < $11::int
     on conflict (caller, idempotency_key) where idempotency_key is not null do nothing
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
    ],
  );
  return rows[0];
}

async function sameKey(statements: Queryable, operation: NewOperation): Promise<Inserted | undefined> {
  if (operation.idempotencyKey === undefined) return undefined;
  const { rows } = await statements.query<OperationRow>(
    "select * from operations where caller = $1 and idempotency_key = $2",
    [operation.caller, operation.idempotencyKey],
  );
  const row = rows[0];
  if (!row) return undefined;
  return row.body_sha256 === operation.bodySha256 ? { kind: "exists", row } : { kind: "conflict" };
}
