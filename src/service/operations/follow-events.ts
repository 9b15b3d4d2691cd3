import { isEnded } from "../../contract/api/operation-view.ts";
import { isFinal, type Snapshot, type StoredEvent } from "../../contract/api/stored-event.ts";
import type { Database } from "../database/database.ts";
import type { OperationNotifications } from "../queue/operation-notifications.ts";
import { readEvents } from "../store/events.ts";
import { type OperationRow, viewOf } from "../store/operation-rows.ts";

/** How much one slow reader holds in memory; there are many readers. */
const PORTION = { events: 200, bytes: 2 ** 17 };
/** An event whose notification was missed is at most this late. */
const POLL_MILLISECONDS = 2_000;

interface FollowParts {
  readonly database: Database;
  readonly notifications: OperationNotifications;
  readonly signal: AbortSignal;
  readonly after: number;
  /** Reads the operation. @throws MucastError not_found. */
  readonly read: () => Promise<OperationRow>;
}

/** Yields the events after `after` as they come, up to the final one. Yields a snapshot first where retention removed such events. */
export async function* followEvents(parts: FollowParts): AsyncGenerator<StoredEvent | Snapshot, void> {
  const { database, notifications, signal, read } = parts;
  let { after } = parts;
  while (!signal.aborted) {
    const row = await read();
    if (after < row.pruned_seq || after > row.last_seq) {
      after = row.last_seq;
      yield snapshotOf(row);
    }
    const next = notifications.next(row.id, POLL_MILLISECONDS, signal);
    const events = await readEvents(database, row.id, after, PORTION);
    for (const event of events) {
      yield event;
      after = event.seq;
      if (isFinal(event.type)) return;
    }
    if (events.length > 0) continue;
    if (isEnded(row.status) && after >= row.last_seq) return;
    await next;
  }
}

function snapshotOf(row: OperationRow): Snapshot {
  return {
    seq: Math.max(1, row.last_seq),
    operation_id: row.id,
    time: new Date().toISOString(),
    type: "snapshot",
    data: viewOf(row),
  };
}
