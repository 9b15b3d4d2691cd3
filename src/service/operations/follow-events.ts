import { isEnded } from "../../contract/api/operation-view.ts";
import { isFinal, type Snapshot, type StoredEvent } from "../../contract/api/stored-event.ts";
import type { Database } from "../database/database.ts";
import type { OperationNotifications } from "../queue/operation-notifications.ts";
import { readEvents } from "../store/events.ts";
import { type OperationRow, viewOf } from "../store/operation-rows.ts";

/** A reader may take nothing for a while, and there are many: each holds so much. */
const PORTION = { events: 200, bytes: 2 ** 17 };
/** A notification may be missed; this is the longest that an event is late then. */
const LOOK_MILLISECONDS = 2_000;

/** What following an operation needs. */
export interface FollowParts {
  readonly database: Database;
  readonly notifications: OperationNotifications;
  readonly signal: AbortSignal;
  readonly after: number;
  /** The operation as it is. @throws MucastError not_found. */
  readonly read: () => Promise<OperationRow>;
}

/** Events after `after` as they come, up to and with the final one; a snapshot first where the asked ones are gone. */
export async function* followEvents(following: FollowParts): AsyncGenerator<StoredEvent | Snapshot, void> {
  const { database, notifications, signal, read } = following;
  let { after } = following;
  while (!signal.aborted) {
    const row = await read();
    if (after < row.pruned_seq || after > row.last_seq) {
      after = row.last_seq;
      yield snapshotOf(row);
    }
    const next = notifications.next(row.id, LOOK_MILLISECONDS, signal);
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
