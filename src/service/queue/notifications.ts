import type { StoredEventType } from "../../contract/api/stored-event.ts";
import type { Database } from "../database/database.ts";

type OnEvent = (type: StoredEventType, id: string) => void;

/** Delivers the events of operations as they happen, from every service on this database. */
export class OperationNotifications {
  readonly #listeners = new Set<OnEvent>();
  readonly #missed = new Set<() => void>();
  readonly #waiting = new Map<string, Set<() => void>>();
  #unlisten: () => Promise<void> = async () => undefined;

  static async start(database: Database): Promise<OperationNotifications> {
    const notifications = new OperationNotifications();
    notifications.#unlisten = await database.listen({
      onNotification: (payload) => notifications.#onNotification(payload),
      onMissed: () => notifications.#wakeAll(),
    });
    return notifications;
  }

  /** Calls `listener` for every event. @returns a function that unsubscribes it. */
  onEvent(listener: OnEvent): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls `listener` when notifications may have been missed. */
  onMissed(listener: () => void): void {
    this.#missed.add(listener);
  }

  /**
   * Waits for the next event of an operation. Call it before you read the operation's state, so that no event is missed in between.
   * It also resolves after `milliseconds`, or when the signal aborts.
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

  /** Ends all waits, and stops listening. */
  async close(): Promise<void> {
    this.#wakeAll();
    this.#listeners.clear();
    await this.#unlisten();
  }

  #onNotification(payload: string): void {
    const [type, id = ""] = payload.split(":", 2) as [StoredEventType, string?];
    for (const listener of this.#listeners) listener(type, id);
    for (const done of [...(this.#waiting.get(id) ?? [])]) done();
  }

  #wakeAll(): void {
    for (const waiting of [...this.#waiting.values()]) for (const done of [...waiting]) done();
    for (const listener of this.#missed) listener();
  }
}
