import type { JobOrder } from "../../executors/executor.ts";
import type { OperationRow } from "../store/operation-row.ts";
import type { QueueParts } from "./queue-parts.ts";

/** What an executor is asked for, by the row of an attempt. @param workers cores it may use. */
export function orderOf(row: OperationRow, workers: number, urlOf: QueueParts["urlOf"]): JobOrder {
  const inputs = [row.feature_url, row.data_extractor_url];
  return {
    id: row.id,
    attempt: row.attempt,
    operation: row.operation,
    featureUrl: urlOf(row.feature_url),
    dataExtractorUrl: urlOf(row.data_extractor_url),
    config: row.config,
    space: row.space,
    shared: inputs.filter((stored) => row.space !== "" && stored.startsWith("/data/")).map(urlOf),
    workers,
    traceparent: row.traceparent ?? undefined,
  };
}
