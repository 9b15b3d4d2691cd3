import { CappedList, type CodeCounts } from "../../contract/api/answer-limits.ts";
import type { Operation, OperationStatus, OperationView } from "../../contract/api/operation-view.ts";
import { boundedProblem, type Problem } from "../../contract/errors/problem.ts";
import type { Warning } from "../../contract/errors/warnings.ts";
import type { Failure } from "../../contract/output/output-blob.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";

/** A row of `operations`. */
export interface OperationRow {
  readonly id: string;
  /** Decimal digits: it grows with every operation. */
  readonly ordinal: string | number;
  readonly caller: string;
  /** Of the caller in the storage, as it was when the operation was taken. */
  readonly space: string;
  readonly operation: Operation;
  readonly feature_url: string;
  readonly data_extractor_url: string;
  readonly config: string;
  readonly config_sha256: string;
  readonly body_sha256: string;
  readonly traceparent: string | null;
  readonly status: OperationStatus;
  /** How many attempts have begun; 0 before the first. */
  readonly attempt: number;
  /** How many of them vanished. */
  readonly lost: number;
  /** The service that runs it, while it is Running. */
  readonly owner: string | null;
  readonly handle: string | null;
  readonly cancel_requested_at: Date | null;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly attempt_started_at: Date | null;
  /** How long the attempt had run when the row was claimed, taken over or read: by the database's clock from end to end. */
  readonly attempt_seconds?: number | null;
  readonly finished_at: Date | null;
  readonly progress: OperationView["progress"];
  readonly warnings: readonly Warning[];
  readonly failures: readonly Failure[];
  /** Of all warnings and failures of the newest attempt that reported any. */
  readonly warning_counts: CodeCounts | null;
  readonly failure_counts: CodeCounts | null;
  readonly result: ResultRecord | null;
  readonly error: Problem | null;
  readonly last_seq: number;
  /** The newest event that is no longer kept; 0 where all are. */
  readonly pruned_seq: number;
}

/** Selects `attempt_seconds`. Never negative, also where the clock was put back. */
export const ATTEMPT_SECONDS =
  "greatest(0, extract(epoch from now() - attempt_started_at))::float8 as attempt_seconds";

/** The operation as its caller sees it, of no more bytes than an operation may have. */
export function viewOf(row: OperationRow): OperationView {
  const failures = new CappedList(row.failures).entries;
  return {
    id: row.id,
    operation: row.operation,
    status: row.status,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
    progress: row.progress,
    warnings: new CappedList(row.warnings).entries,
    ...(hasAny(row.warning_counts) ? { warning_counts: row.warning_counts } : {}),
    ...(failures.length > 0 ? { failures } : {}),
    ...(hasAny(row.failure_counts) ? { failure_counts: row.failure_counts } : {}),
    result: row.result,
    error: row.error && boundedProblem(row.error),
  };
}

function hasAny(counts: CodeCounts | null): counts is CodeCounts {
  return counts !== null && Object.keys(counts).length > 0;
}
