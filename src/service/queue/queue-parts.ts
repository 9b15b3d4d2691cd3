import type { BlobStore } from "../../blob/store.ts";
import type { StatusBlob } from "../../contract/output/status-blob.ts";
import type { Executor } from "../../executors/executor.ts";
import type { Database } from "../database/database.ts";
import type { WebhookTypes } from "../store/webhook-types.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** What everything in this folder works with. */
export interface QueueParts {
  readonly database: Database;
  /** This service, told from every other and from itself before a restart. */
  readonly owner: string;
  readonly executor: Executor;
  readonly store: BlobStore;
  /** The last an attempt said of itself; undefined where it left nothing. */
  readonly readStatus: (store: BlobStore, id: string, attempt: number) => Promise<StatusBlob | undefined>;
  readonly settings: {
    readonly events_kept: number;
    readonly job_seconds: number;
    readonly concurrent_jobs: number;
    readonly cores: number;
    readonly retention_days: number;
  };
  /** Where an input is, by what its row says: a URL, or the path of a blob of ours, whatever our address is by now. */
  readonly urlOf: (stored: string) => string;
  readonly webhooks: WebhookTypes;
  readonly telemetry: Telemetry;
  readonly log: Log;
}
