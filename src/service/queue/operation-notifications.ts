import type { StoredEventType } from "../../contract/api/stored-event.ts";
import type { Database } from "../database/database.ts";
import { CHANNEL } from "../store/events.ts";

type Listener = (type: StoredEventType, id: string) => void;

/** What happens to operations, told by every service on this database as it happens. */
export class OperationNotifications {
  readonly #listeners = new Set<Listener>();
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #missed = new Set<() => void>();
  #end: () => Promise<void> = async () => undefined;

  static async start(database: Database): Promise<OperationNotifications> {
    const notifications = new OperationNotifications();
    notifications.#end = await database.listen(
      CHANNEL,
      (payload) => notifications.#told(payload),
      () => notifications.#wakeAll(),
    );
    return notifications;
  }

  /** Calls `listener` for every event. @returns what ends it. */
  onEvent(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls `listener` after a time in which events may have been missed. */
  onMissed(listener: () => void): void {
    this.#missed.add(listener);
  }

  /**
   * A promise of the next event of an operation, made before its state is read, so that none is missed between.
   * It is fulfilled too when `milliseconds` have passed, or the signal is aborted.
   */
  next(id: string, milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(id) ?? new Set();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        waiting.delete(done);
        if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      waiting.add(done);
      this.#waiting.set(id, waiting);
      if (signal?.aborted) done();
      else signal?.addEventListener("abort", done, { once: true });
    });
  }

  /** Nobody waits any more after this. */
  async close(): Promise<void> {
    this.#wakeAll();
    this.#listeners.clear();
    await this.#end();
  }

  #told(payload: string): void {
    const [type, id = ""] = payload.split(":", 2) as [StoredEventType, string?];
    for (const listener of this.#listeners) listener(type, id);
    for (const done of [...(this.#waiting.get(id) ?? [])]) done();
  }

  #wakeAll(): void {
    for (const waiting of [...this.#waiting.values()]) for (const done of [...waiting]) done();
    for (const listener of this.#missed) listener();
  }
}
