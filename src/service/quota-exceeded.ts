import { MucastError } from "../contract/errors/errors.ts";
import type { Usage } from "./store/blob-records.ts";
import type { Quota } from "./store/blob-uploads.ts";

/** That a caller has no room for another blob. @param used without it. */
export function quotaExceeded(used: Usage, quota: Quota): MucastError {
  const setting = used.blobs >= quota.blobs ? "stored_blobs_per_caller" : "stored_bytes_per_caller";
  const message =
    `this caller has ${used.blobs} blobs of ${used.bytes} bytes, uploads that go on and outputs to come among them, ` +
    `and may have ${quota.blobs} of ${quota.bytes} (${setting})`;
  return new MucastError("quota_exceeded", message, { used, quota });
}
