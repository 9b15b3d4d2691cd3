import { isEnded } from "../../contract/api/operation-view.ts";
import { isFinal, type Snapshot, type StoredEvent } from "../../contract/api/stored-event.ts";
import type { Database } from "../database/database.ts";
import type { OperationNotifications } from "../queue/notifications.ts";
import { readEvents } from "../store/events.ts";
import { type ViewedRow, viewOf } from "../store/operation-view.ts";

/** Maximum memory for one slow reader; there are many readers. */
const PORTION = { events: 200, bytes: 2 ** 17 };
/** The maximum delay of an event whose notification was missed. */
const POLL_MILLISECONDS = 2_000;

interface FollowParts {
  readonly database: Database;
  readonly notifications: OperationNotifications;
  readonly signal: AbortSignal;
  readonly after: number;
  /** Reads the operation. @throws MucastError not_found. */
  readonly read: () => Promise<ViewedRow>;
}

/**
 * Yields the events after `after` as they come, up to the final one. A snapshot replaces events that retention has removed. Its
 * number is the last one before the next event, so a reader that resumes after it misses none.
 */
export async function* followEvents(parts: FollowParts): AsyncGenerator<StoredEvent | Snapshot, void> {
  const { database, notifications, signal, read } = parts;
  let { after } = parts;
  /** Removed events up to this number need no further snapshot. */
  let covered = 0;
  while (!signal.aborted) {
    let row = await read();
    if (after > row.last_seq) {
      after = isEnded(row.status) ? row.last_seq - 1 : row.last_seq;
      yield snapshotOf(row, after);
    }
    const next = notifications.next(row.id, POLL_MILLISECONDS, signal);
    const events = await readEvents(database, row.id, after, PORTION);
    // Retention may have removed events between the two reads. A row that is read later counts them.
    if (hasGap(events, after)) row = await read();
    for (const event of events) {
      if (event.seq > after + 1 && row.pruned_seq > Math.max(after, covered)) {
        covered = row.pruned_seq;
        yield snapshotOf(row, event.seq - 1);
      }
      yield event;
      after = event.seq;
      if (isFinal(event.type)) return;
    }
    if (events.length > 0) continue;
    if (row.pruned_seq > Math.max(after, covered)) {
      // The reads above have found no event from `after` to this number.
      after = row.last_seq;
      yield snapshotOf(row, after);
    }
    if (isEnded(row.status) && after >= row.last_seq) return;
    await next;
  }
}

function hasGap(events: readonly StoredEvent[], after: number): boolean {
  return events.length > 0 && events.at(-1)!.seq - after > events.length;
}

/** @param seq the events after it follow. */
function snapshotOf(row: ViewedRow, seq: number): Snapshot {
  return {
    seq: Math.max(1, seq),
    operation_id: row.id,
    time: new Date().toISOString(),
    type: "snapshot",
    data: viewOf(row),
  };
}
