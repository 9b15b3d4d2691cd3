import type { OperationView } from "../../contract/operation-view.ts";
import type { Warning } from "../../contract/warnings.ts";
import type { Database } from "../database/database.ts";
import type { Attempt } from "./claim-operation.ts";
import { appendEvents, type NewEvent, pruneEvents } from "./events.ts";
import type { WebhookTypes } from "./webhook-types.ts";

/** Warnings of one operation that are kept beside it; the output lists all. */
export const WARNINGS_KEPT = 200;

/** What an attempt has told since the last time. */
export interface News {
  readonly warnings: readonly Warning[];
  readonly progress: OperationView["progress"];
}

/** Stores progress and warnings of a running attempt, as events too. What a former attempt has warned of is not told again. */
export function recordNews(
  database: Database,
  { id, attempt }: Attempt,
  { warnings, progress }: News,
  kept: { readonly events: number; readonly webhooks: WebhookTypes },
): Promise<void> {
  return database.transaction(async (statements) => {
    const { rows } = await statements.query<{ warnings: Warning[] }>(
      "select warnings from operations where id = $1 and attempt = $2 and status = 'Running' for update",
      [id, attempt],
    );
    if (rows.length === 0) return;
    const known = rows[0]!.warnings;
    const seen = new Set(known.map((warning) => JSON.stringify(sorted(warning))));
    const fresh = warnings
      .filter((warning) => !seen.has(JSON.stringify(sorted(warning))))
      .slice(0, Math.max(0, WARNINGS_KEPT - known.length));
    await statements.query(
      "update operations set progress = coalesce($2::json, progress), warnings = $3::json where id = $1",
      [id, progress === null ? null : JSON.stringify(progress), JSON.stringify([...known, ...fresh])],
    );
    const events: NewEvent[] = fresh.map((warning) => ({ type: "warning", data: warning }));
    if (progress) events.push({ type: "progress", data: progress });
    if (events.length === 0) return;
    const last = await appendEvents(statements, id, events, kept.webhooks);
    await pruneEvents(statements, id, last, kept.events);
  });
}

/** A former attempt may have told the same with its keys in another order. */
function sorted({ code, message, ticker, count }: Warning): unknown[] {
  return [code, message, ticker, count];
}
