import { MucastError } from "../../contract/errors/errors.ts";
import type { Queryable } from "../database/database.ts";
import { lockUsage, type Usage } from "./blob-records.ts";
import { ACTIVE_STATUSES } from "./operation-rows.ts";

/** The quota of a caller. An upload counts once it is recorded, and before that at its own service. */
export interface Quota {
  readonly bytes: number;
  readonly blobs: number;
}

/** What a caller has stored, with one output for each active operation. */
export async function usageOf(statements: Queryable, caller: string): Promise<Usage> {
  const { rows } = await statements.query<Usage>(
    `select coalesce(sum(bytes), 0)::float8 as bytes, (coalesce(sum(blobs), 0) + (
       select count(*) from operations where caller = $1 and status in ${ACTIVE_STATUSES}
     ))::float8 as blobs
     from blob_usage where caller = $1`,
    [caller],
  );
  return rows[0]!;
}

/**
 * Checks whether one more output fits a caller's quota, and locks the usage until the transaction ends, so that concurrent
 * submissions count each other.
 * @returns the usage without it if it does not fit.
 */
export async function overQuota(
  statements: Queryable,
  caller: string,
  quota: Quota,
): Promise<Usage | undefined> {
  await lockUsage(statements, caller);
  const used = await usageOf(statements, caller);
  return used.bytes >= quota.bytes || used.blobs >= quota.blobs ? used : undefined;
}

/** The error for a caller whose quota has no space for another blob. @param used the usage without it. */
export function quotaExceeded(used: Usage, quota: Quota): MucastError {
  const setting = used.blobs >= quota.blobs ? "stored_blobs_per_caller" : "stored_bytes_per_caller";
  const message =
    `this caller has ${used.blobs} blobs of ${used.bytes} bytes, including uploads in progress and expected outputs, ` +
    `and may have ${quota.blobs} of ${quota.bytes} (${setting})`;
  return new MucastError("quota_exceeded", message, { used, quota });
}
