import {
  isEnded,
  OPERATION_STATUSES,
  type OperationStatus,
  type OperationView,
} from "../../contract/api/operation-view.ts";
import type { QueueView } from "../../contract/api/queue-view.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";
import type { PayloadOptions } from "../../contract/config/payload-schemas.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { boundedCopy } from "../../contract/json/bounded-json.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { RunSummary } from "../../contract/output/run-summary.ts";
import { boundedProblem, type Failure, type Problem } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { CappedList, type CodeCounts, SIZES } from "../../contract/schema/answer-limits.ts";
import type { Queryable } from "../database/database.ts";

/** Which operations a page lists. */
export interface ListQuery {
  readonly status?: OperationStatus | undefined;
  readonly operation?: SubmittedOperation | undefined;
  /** Operations that have all of them. */
  readonly tag?: readonly string[] | undefined;
  readonly cursor?: string | undefined;
  /** 1 to 100. */
  readonly limit: number;
}

/** A row of `operations`. */
export interface OperationRow {
  readonly id: string;
  /** Decimal digits: it grows with every operation. */
  readonly ordinal: string | number;
  readonly caller: string;
  /** The caller's space of the storage when the operation was submitted. */
  readonly space: string;
  readonly operation: SubmittedOperation;
  readonly feature_url: string;
  readonly data_extractor_url: string;
  readonly config: string;
  /** The payload without the three members above; URLs as storage paths if they are the service's own. Empty after it has ended. */
  readonly options: PayloadOptions;
  readonly tags: readonly string[];
  readonly model: string | null;
  /** JSON text of the payload without secrets. Null for operations of earlier versions. */
  readonly payload: string | null;
  readonly config_sha256: string;
  readonly body_sha256: string;
  readonly traceparent: string | null;
  readonly status: OperationStatus;
  /** Number of started attempts; 0 before the first. */
  readonly attempt: number;
  /** Number of lost attempts. */
  readonly lost: number;
  /** The causes of the losses. Attempts that were lost before version 7 of the database have none. */
  readonly losses: readonly Loss[];
  /** The newest attempt that ran while its service drained; 0 if none did. If that attempt is lost, the loss does not count. */
  readonly drained_attempt: number;
  /** The service that runs it, while it is Running; null if another service may take it over. */
  readonly owner: string | null;
  readonly handle: string | null;
  readonly cancel_requested_at: Date | null;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly attempt_started_at: Date | null;
  /** Seconds that the attempt had run when the row was claimed, taken over or read, by the database's clock. */
  readonly attempt_seconds?: number | null;
  readonly finished_at: Date | null;
  readonly progress: OperationView["progress"];
  readonly warnings: readonly Warning[];
  readonly failures: readonly Failure[];
  /** Counts of all warnings and failures of the newest attempt that reported any. */
  readonly warning_counts: CodeCounts | null;
  readonly failure_counts: CodeCounts | null;
  /** Reported by a job before it writes its output. */
  readonly summary: RunSummary | null;
  readonly result: ResultRecord | null;
  readonly error: Problem | null;
  readonly last_seq: number;
  /** The newest event that is no longer stored; 0 if all are. */
  readonly pruned_seq: number;
}

/** Why an attempt was lost. */
export interface Loss {
  readonly attempt: number;
  /** `service`: the whole service ended. `execution`: the job's own process or container ended. */
  readonly with: "service" | "execution";
  readonly reason: string;
}

/** The statuses of active operations, as an SQL list. */
export const ACTIVE_STATUSES = `(${OPERATION_STATUSES.filter((status) => !isEnded(status))
  .map((status) => `'${status}'`)
  .join(", ")})`;

/** Selects `attempt_seconds`; 0 if the database's clock was set back. */
export const ATTEMPT_SECONDS =
  "greatest(0, extract(epoch from now() - attempt_started_at))::float8 as attempt_seconds";

/** A longer wait is cut to this. */
export const MAX_WAIT_SECONDS = 600;

/** The columns that a caller's view of an operation, and of its events, comes from. A config may take much longer to read. */
const VIEWED = [
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

/** What a view of an operation needs of its row. */
export type ViewedRow = Pick<OperationRow, (typeof VIEWED)[number]>;

/** The operation as its caller sees it, within the size limit of an operation. */
export function viewOf(row: ViewedRow): OperationView {
  const failures = new CappedList(row.failures).entries;
  return {
    id: row.id,
    operation: row.operation,
    status: row.status,
    ...(row.model === null ? {} : { model: row.model }),
    ...(row.tags.length === 0 ? {} : { tags: [...row.tags] }),
    ...inputsOf(row),
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
    progress: row.progress,
    warnings: new CappedList(row.warnings).entries,
    ...(hasAny(row.warning_counts) ? { warning_counts: row.warning_counts } : {}),
    ...(failures.length > 0 ? { failures } : {}),
    ...(hasAny(row.failure_counts) ? { failure_counts: row.failure_counts } : {}),
    ...(row.summary === null ? {} : { summary: row.summary }),
    result: row.result,
    error: row.error && boundedProblem(row.error),
  };
}

/** Far longer than the name of an input that a job can read. */
const MAX_NAME_LENGTH = 200;

/** A URL may have a signature, and its location says where the operator's storage is. */
function inputsOf({ feature_url, data_extractor_url }: ViewedRow): Pick<OperationView, "inputs"> {
  const urls = { feature: feature_url, data_extractor: data_extractor_url };
  const named = Object.entries(urls).flatMap(([input, url]) => {
    const name = url.split(/[?#]/)[0]!.split("/").at(-1)!.slice(0, MAX_NAME_LENGTH);
    return name === "" ? [] : [[input, name]];
  });
  return named.length === 0 ? {} : { inputs: Object.fromEntries(named) };
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

function hasAny(counts: CodeCounts | null): counts is CodeCounts {
  return counts !== null && Object.keys(counts).length > 0;
}

/** Reads an operation of any caller. */
export async function readOperation(statements: Queryable, id: string): Promise<OperationRow | undefined> {
  const { rows } = await statements.query<OperationRow>(
    `select *, ${ATTEMPT_SECONDS} from operations where id = $1`,
    [id],
  );
  return rows[0];
}

/** Reads what a view of an operation of the caller needs. */
export async function readViewed(
  statements: Queryable,
  id: string,
  caller: string,
): Promise<ViewedRow | undefined> {
  const { rows } = await statements.query<ViewedRow>(
    `select ${VIEWED.join(", ")} from operations where id = $1 and caller = $2`,
    [id, caller],
  );
  return rows[0];
}

/** Reads the kept payload of an operation of the caller: null if it has none, undefined if there is no such operation. */
export async function readKeptPayload(
  statements: Queryable,
  id: string,
  caller: string,
): Promise<string | null | undefined> {
  const { rows } = await statements.query<Pick<OperationRow, "payload">>(
    "select payload from operations where id = $1 and caller = $2",
    [id, caller],
  );
  return rows[0]?.payload;
}

/** Rows of a page, newest first. */
interface ListedRows {
  readonly rows: readonly ViewedRow[];
  /** Whether the caller has older operations. */
  readonly hasMore: boolean;
}

/**
 * Reads at most `limit` operations; after the first, only as many as take at most `bytes` of JSON text together.
 * @param query `after`: the last operation of the previous page. If retention has removed it, the page starts with the next older
 * operation.
 */
export async function listOperations(
  statements: Queryable,
  caller: string,
  query: Omit<ListQuery, "cursor"> & { readonly after: PageEnd | undefined; readonly bytes: number },
): Promise<ListedRows> {
  // The database adds up the sizes of the parts without a fixed size, so that rows beyond the limit are not read.
  const { rows } = await statements.query<ViewedRow & { readonly found: number }>(
    `select * from (
       select *, count(*) over ()::int as found,
         coalesce(sum(octet_length(warnings::text) + octet_length(failures::text) + octet_length(coalesce(error::text, '')))
           over (order by ordinal desc rows between unbounded preceding and 1 preceding), 0) as bytes_before
       from (
         select ${VIEWED.join(", ")}, ordinal from operations
         where caller = $1 and ($2::text is null or status = $2) and ($3::text is null or operation = $3)
           and tags @> $8::text[]
           and ($4::text is null or ordinal < coalesce(
             (select ordinal from operations where id = $4 and caller = $1),
             (select min(ordinal) from operations
                where caller = $1 and date_trunc('milliseconds', created_at) > $5::timestamptz),
             ${MAX_ORDINAL}))
         order by ordinal desc limit $6
       ) found
     ) listed
     where bytes_before < $7
     order by ordinal desc`,
    [
      caller,
      query.status ?? null,
      query.operation ?? null,
      query.after?.id ?? null,
      query.after?.createdAt ?? null,
      query.limit + 1,
      query.bytes,
      query.tag ?? [],
    ],
  );
  const page = rows.slice(0, query.limit);
  return { rows: page, hasMore: (rows[0]?.found ?? 0) > page.length };
}

/** Counts the operations of all callers that wait to start. */
export async function countWaiting(statements: Queryable): Promise<number> {
  const { rows } = await statements.query<{ waiting: number }>(
    "select count(*)::int as waiting from operations where status = 'NotStarted'",
  );
  return rows[0]!.waiting;
}

/** Counts the active operations: of all callers, and those of one caller. */
export async function countActive(
  statements: Queryable,
  caller: string,
): Promise<Pick<QueueView, "waiting" | "running" | "own">> {
  const { rows } = await statements.query<Readonly<Record<"waiting" | "running" | "mine" | "runs", number>>>(
    `select count(*) filter (where status = 'NotStarted')::int as waiting,
       count(*) filter (where status = 'Running')::int as running,
       count(*) filter (where status = 'NotStarted' and caller = $1)::int as mine,
       count(*) filter (where status = 'Running' and caller = $1)::int as runs
     from operations where status in ${ACTIVE_STATUSES}`,
    [caller],
  );
  const { waiting, running, mine, runs } = rows[0]!;
  return { waiting, running, own: { waiting: mine, running: runs } };
}

/** The largest bigint. */
const MAX_ORDINAL = "9223372036854775807";

/** The last operation of a page, by values that its caller can see: an ordinal would reveal how many operations others submit. */
interface PageEnd {
  readonly id: string;
  /** ISO 8601 with milliseconds. */
  readonly createdAt: string;
}

/** The cursor that a caller sends for the next page. */
export function cursorAfter({ id, created_at }: Pick<OperationView, "id" | "created_at">): string {
  return Buffer.from(`${id} ${created_at}`).toString("base64url");
}

const CURSOR = /^([A-Za-z0-9_-]{1,64}) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/;

/** Whether PostgreSQL accepts it, which knows neither the year 0 nor 30 February. */
function isDate(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text && !text.startsWith("0000");
}

/** @throws MucastError invalid_request for a text that cursorAfter did not create. */
export function pageEndOf(cursor: string): PageEnd {
  const [, id, createdAt = ""] = CURSOR.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  if (id !== undefined && isDate(createdAt)) return { id, createdAt };
  throw new MucastError(
    "invalid_request",
    "cursor: is not one that a list gave; leave it out for the first page",
    {
      path: "cursor",
      value: cursor.slice(0, 100),
    },
  );
}
