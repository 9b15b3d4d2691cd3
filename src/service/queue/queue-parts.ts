import type { BlobStore } from "../../blob/store.ts";
import { OPTION_URL_MEMBERS } from "../../contract/config/payload-schemas.ts";
import type { StatusBlob } from "../../contract/output/job-events.ts";
import type { Executor, JobOrder } from "../../executors/executor.ts";
import type { Database } from "../database/database.ts";
import type { WebhookTypes } from "../store/events.ts";
import type { OperationRow } from "../store/operations.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Leases } from "./leases.ts";

/** What the parts of the queue share. */
export interface QueueParts {
  readonly database: Database;
  readonly leases: Leases;
  readonly executor: Executor;
  readonly store: BlobStore;
  /** Reads the status blob of an attempt; undefined if there is none. */
  readonly readStatus: (store: BlobStore, id: string, attempt: number) => Promise<StatusBlob | undefined>;
  readonly settings: {
    readonly events_kept: number;
    readonly job_seconds: number;
    readonly concurrent_jobs: number;
    readonly cores: number;
  };
  /** The URL of an input, from its URL or storage path in the row. */
  readonly urlOf: (stored: string) => string;
  readonly webhooks: WebhookTypes;
  /** Whether the output of an operation that succeeds is to be recorded by the tracker. */
  readonly isTracked?: ((row: Pick<OperationRow, "operation">) => boolean) | undefined;
  readonly telemetry: Telemetry;
  readonly log: Log;
}

/** The order of an attempt, from its row. @param workers cores that the job may use. */
export function orderOf(row: OperationRow, workers: number, urlOf: QueueParts["urlOf"]): JobOrder {
  const { urls, resolved } = optionsOf(row, urlOf);
  const inputs = [row.feature_url, row.data_extractor_url, ...urls];
  return {
    id: row.id,
    attempt: row.attempt,
    operation: row.operation,
    featureUrl: urlOf(row.feature_url),
    dataExtractorUrl: urlOf(row.data_extractor_url),
    config: row.config,
    options: resolved,
    space: row.space,
    shared: inputs.filter((stored) => row.space !== "" && stored.startsWith("/data/")).map(urlOf),
    workers,
    traceparent: row.traceparent ?? undefined,
  };
}

/** The options with URLs as the job reads them, and these URLs as stored in the row. */
function optionsOf({ options }: OperationRow, urlOf: QueueParts["urlOf"]) {
  const stored = OPTION_URL_MEMBERS.flatMap((name) => {
    const url = options[name];
    return typeof url === "string" ? [[name, url] as const] : [];
  });
  const resolved = { ...options, ...Object.fromEntries(stored.map(([name, url]) => [name, urlOf(url)])) };
  return { urls: stored.map(([, url]) => url), resolved };
}

/** Runs an action that its caller repeats later, and logs its failure: the database or the storage may be unreachable. */
export async function logFailure(log: Log, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    log.warn({ err: error }, "the queue could not be processed; the service will try again");
  }
}
