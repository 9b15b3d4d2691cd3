import type { EventBatch } from "../../contract/output/job-events.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { CappedList } from "../../contract/schema/answer-limits.ts";
import type { Database, Queryable } from "../database/database.ts";
import type { Attempt } from "./claim-operation.ts";
import { appendEvents, type NewEvent, pruneEvents, type WebhookTypes } from "./events.ts";
import type { OperationRow } from "./operation-rows.ts";

type Listed = Pick<OperationRow, "warnings" | "failures">;

/**
 * Stores a batch in the operation's row and as events. Omits warnings and failures that an earlier attempt has already reported, and
 * keeps only the first of very many.
 */
export function recordProgress(
  database: Database,
  { id, attempt }: Attempt,
  batch: EventBatch,
  kept: { readonly events: number; readonly webhooks: WebhookTypes },
): Promise<void> {
  return database.transaction(async (statements) => {
    const { rows } = await statements.query<Listed>(
      "select warnings, failures from operations where id = $1 and attempt = $2 and status = 'Running' for update",
      [id, attempt],
    );
    if (rows.length === 0) return;
    const warnings = addNew(rows[0]!.warnings, batch.warnings ?? [], warningParts);
    const failures = addNew(rows[0]!.failures, batch.failures ?? [], failureParts);
    await update(statements, id, batch, { warnings: warnings.all, failures: failures.all });
    const events = eventsOf({ ...batch, warnings: [...warnings.fresh], failures: [...failures.fresh] });
    if (events.length === 0) return;
    const last = await appendEvents(statements, id, events, kept.webhooks);
    await pruneEvents(statements, id, last, kept.events);
  });
}

/** The events of each part of a batch, in the order in which they are stored. */
const EVENTS: {
  readonly [P in keyof EventBatch]-?: (part: NonNullable<EventBatch[P]>) => readonly NewEvent[];
} = {
  warnings: (list) => list.map((data) => ({ type: "warning", data })),
  failures: (list) => list.map((data) => ({ type: "failure", data })),
  epochs: (data) => [{ type: "epochs", data }],
  progress: (data) => [{ type: "progress", data }],
  // They stand in the operation alone.
  counts: () => [],
  summary: () => [],
};

function eventsOf(batch: EventBatch): NewEvent[] {
  return (Object.keys(EVENTS) as (keyof EventBatch)[]).flatMap((part) => {
    const found = batch[part];
    return found === undefined ? [] : EVENTS[part](found as never);
  });
}

async function update(
  statements: Queryable,
  id: string,
  { progress, counts, summary }: EventBatch,
  { warnings, failures }: Listed,
): Promise<void> {
  await statements.query(
    `update operations
     set progress = coalesce($2::json, progress), warnings = $3::json, failures = $4::json,
       warning_counts = coalesce($5::json, warning_counts), failure_counts = coalesce($6::json, failure_counts), summary = coalesce($7::json, summary)
     where id = $1`,
    [
      id,
      progress === undefined ? null : JSON.stringify(progress),
      JSON.stringify(warnings),
      JSON.stringify(failures),
      counts === undefined ? null : JSON.stringify(counts.warnings),
      counts === undefined ? null : JSON.stringify(counts.failures),
      summary === undefined ? null : JSON.stringify(summary),
    ],
  );
}

/** Adds the entries that are not listed yet, while the list has room. @returns these, and the whole list. */
function addNew<T extends { readonly code: string }>(
  known: readonly T[],
  reported: readonly T[],
  parts: (entry: T) => unknown[],
): { readonly all: readonly T[]; readonly fresh: readonly T[] } {
  const list = new CappedList(known);
  const seen = new Set(known.map((entry) => JSON.stringify(parts(entry))));
  const fresh = reported.flatMap((entry) => {
    if (seen.has(JSON.stringify(parts(entry)))) return [];
    const listed = list.add(entry);
    return listed === undefined ? [] : [listed];
  });
  return { all: list.entries, fresh };
}

/** An earlier attempt may have reported the same with its keys in another order. */
function warningParts({ code, message, ticker, count }: Warning): unknown[] {
  return [code, message, ticker, count];
}

function failureParts({ ticker, code, message }: Failure): unknown[] {
  return [ticker, code, message];
}
