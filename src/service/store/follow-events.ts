import { EventEmitter, once } from "node:events";
import { isEnded } from "../../contract/api/operation-view.ts";
import {
  isFinal,
  type Snapshot,
  type StoredEvent,
  type StoredEventType,
} from "../../contract/api/stored-event.ts";
import type { Database } from "../database/database.ts";
import { readEvents } from "./events.ts";
import { type ViewedRow, viewOf } from "./operation-view.ts";

export class OperationNotifications {
  readonly #emitter = new EventEmitter().setMaxListeners(0);
  #unlisten: () => Promise<void> = async () => undefined;

  static async start(database: Database): Promise<OperationNotifications> {
    const notifications = new OperationNotifications();
    const emitter = notifications.#emitter;
    notifications.#unlisten = await database.listen({
      onNotification: (payload) => {
        const [type, id] = payload.split(":", 2);
        emitter.emit("event", type, id);
        emitter.emit(`of ${id}`);
      },
      onMissed: () => {
        notifications.#endWaits();
        emitter.emit("missed");
      },
    });
    return notifications;
  }

  onEvent(listener: (type: StoredEventType, id: string) => void): () => void {
    this.#emitter.on("event", listener);
    return () => void this.#emitter.off("event", listener);
  }

  onMissed(listener: () => void): void {
    this.#emitter.on("missed", listener);
  }

  /** Call it before you read the operation's state, so that no event is missed in between. Also resolves after `milliseconds`. */
  async next(id: string, milliseconds: number, signal?: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(milliseconds);
    const ending = signal ? AbortSignal.any([signal, late]) : late;
    await once(this.#emitter, `of ${id}`, { signal: ending }).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#endWaits();
    await this.#unlisten();
    this.#emitter.removeAllListeners();
  }

  #endWaits(): void {
    for (const name of this.#emitter.eventNames())
      if (String(name).startsWith("of ")) this.#emitter.emit(name);
  }
}

/** What a reader holds at a time, and one event more; there are many readers. */
const PORTION = { events: 200, bytes: 2 ** 17 };
/** The maximum delay of an event whose notification was missed. */
const POLL_MILLISECONDS = 2_000;

interface FollowParts {
  readonly database: Database;
  readonly notifications: OperationNotifications;
  readonly signal: AbortSignal;
  readonly after: number;
  readonly read: () => Promise<ViewedRow>;
}

/** A snapshot replaces removed events. Its number is the last before the next event, so a reader that resumes misses none. */
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
    const events = await readEvents(database, row.id, after, PORTION.events, PORTION.bytes);
    // Retention may have removed events between the two reads. A row that is read later counts them.
    const hasGap = events.length > 0 && events.at(-1)!.seq - after > events.length;
    if (hasGap) row = await read();
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

function snapshotOf(row: ViewedRow, seq: number): Snapshot {
  const time = new Date().toISOString();
  return { seq: Math.max(1, seq), operation_id: row.id, time, type: "snapshot", data: viewOf(row) };
}
