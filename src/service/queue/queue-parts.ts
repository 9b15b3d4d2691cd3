import type { BlobStore } from "../../blob/store.ts";
import type { StatusBlob, Timing } from "../../contract/status-blob.ts";
import type { Executor } from "../../executors/executor.ts";
import type { Database } from "../database/database.ts";
import type { OperationRow } from "../store/operation-row.ts";
import type { WebhookTypes } from "../store/webhook-types.ts";

/** What the queue tells telemetry. */
export interface QueueTelemetry {
  started(row: OperationRow, cores: number): void;
  /** For good. @param timings of the job, where it told them. */
  ended(row: OperationRow, timings: readonly Timing[]): void;
  attemptLost(row: OperationRow): void;
}

/** Lines of the log; fields hold no secret. */
export interface QueueLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

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
  readonly webhooks: WebhookTypes;
  readonly telemetry: QueueTelemetry;
  readonly log: QueueLog;
}
