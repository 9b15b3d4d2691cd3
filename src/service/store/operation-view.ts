import { isEnded, OPERATION_STATUSES, type OperationView } from "../../contract/api/operation-view.ts";
import { boundedCopy } from "../../contract/json/bounded-json.ts";
import { boundedProblem, type Problem } from "../../contract/problems/problem.ts";
import { CappedList, type CodeCounts, SIZES } from "../../contract/schema/answer-limits.ts";
import type { OperationRow } from "../database/tables.ts";

export const ACTIVE_STATUSES = OPERATION_STATUSES.filter((status) => !isEnded(status));

/** The columns that a caller's view of an operation, and of its events, comes from. A config may take much longer to read. */
export const VIEWED = [
  "id",
  "operation",
  "status",
  "model",
  "tags",
  "feature_url",
  "data_extractor_url",
  "created_at",
  "started_at",
  "finished_at",
  "progress",
  "warnings",
  "warning_counts",
  "failures",
  "failure_counts",
  "summary",
  "result",
  "error",
  "last_seq",
  "pruned_seq",
] as const satisfies readonly (keyof OperationRow)[];

export type ViewedRow = Pick<OperationRow, (typeof VIEWED)[number]>;

export function viewOf(row: ViewedRow): OperationView {
  const { id, operation, status, model, tags, progress, summary, result } = row;
  const inputs = inputsOf(row);
  const failures = new CappedList(row.failures).entries;
  return {
    ...{ id, operation, status },
    ...(model !== null && { model }),
    ...(tags.length > 0 && { tags: [...tags] }),
    ...(Object.keys(inputs).length > 0 && { inputs }),
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
    progress,
    warnings: new CappedList(row.warnings).entries,
    ...(hasAny(row.warning_counts) && { warning_counts: row.warning_counts }),
    ...(failures.length > 0 && { failures }),
    ...(hasAny(row.failure_counts) && { failure_counts: row.failure_counts }),
    ...(summary !== null && { summary }),
    result,
    error: row.error && boundedProblem(row.error),
  };
}

const MAX_NAME_LENGTH = 200;

/** The names alone: a URL may have a signature, and its location says where the operator's storage is. */
function inputsOf({ feature_url, data_extractor_url }: ViewedRow): NonNullable<OperationView["inputs"]> {
  const named = Object.entries({ feature: feature_url, data_extractor: data_extractor_url }).map(
    ([input, url]) => [input, url.split(/[?#]/)[0]!.split("/").at(-1)!.slice(0, MAX_NAME_LENGTH)],
  );
  return Object.fromEntries(named.filter(([, name]) => name !== ""));
}

function hasAny(counts: CodeCounts | null): counts is CodeCounts {
  return counts !== null && Object.keys(counts).length > 0;
}

/** The operation as a list shows it: fewer of its warnings and failures, and the starts of long texts. */
export function listedViewOf(row: ViewedRow): OperationView {
  const { warnings, failures, error, ...view } = viewOf(row);
  const limit = { bytes: SIZES.listedPart, text: SIZES.listedText };
  return {
    ...view,
    warnings: boundedCopy(warnings, limit)!,
    ...(failures && { failures: boundedCopy(failures, limit)! }),
    error: error && boundedCopy(withFailuresLast(error), limit)!,
  };
}

/** The first members get space first. */
function withFailuresLast({ failures, ...problem }: Problem): Problem {
  return failures === undefined ? problem : { ...problem, failures };
}
