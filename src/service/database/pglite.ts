import { existsSync } from "node:fs";
import { chmod, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PGlite, Transaction } from "@electric-sql/pglite";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database, Queryable } from "./database.ts";
import { makeCluster, notOpened, openingFailure } from "./pglite-cluster.ts";
import { type Dump, dumpTables, loadTables } from "./pglite-dump.ts";
import { type PgliteInstance, startInstance } from "./pglite-instance.ts";
import { StatementQueue } from "./statement-queue.ts";

/** What the database requires of the lock of its data folder. */
export interface FolderLock {
  /** Ends the process if the lock is lost; called before each statement and each access to a file. */
  endIfLost(): void;
}

/** A restored database beside the folder that it replaces at the end. */
export const RESTORED = "database.restored";

const UNWATCHED: FolderLock = { endIfLost: () => undefined };

/**
 * Opens PostgreSQL inside this process, with its files in a folder. Only one process may have a folder open: the caller holds the
 * lock of the data folder.
 * @throws MucastError output_failed if a new database cannot be written, unavailable if an existing one cannot be opened.
 */
export async function openPglite(folder: string, lock: FolderLock = UNWATCHED): Promise<EmbeddedDatabase> {
  const restored = join(dirname(folder), RESTORED);
  // A killed restore leaves it. Beside a database it is stale, and must not replace a later one.
  if (existsSync(folder)) await rm(restored, { recursive: true, force: true });
  else if (existsSync(restored)) await rename(restored, folder);
  if (!existsSync(folder)) await makeCluster(folder);
  // PGlite would silently create a new database there.
  if (!existsSync(join(folder, "PG_VERSION"))) throw notOpened(folder, "it holds no PG_VERSION");
  // PGlite creates files that every user may write, and other users may see the data folder.
  await chmod(folder, 0o700);
  try {
    return new EmbeddedDatabase(folder, lock, await startInstance(folder, lock.endIfLost));
  } catch (cause) {
    throw notOpened(folder, openingFailure(folder, cause), cause);
  }
}

interface Subscription {
  readonly channel: string;
  readonly onNotification: (payload: string) => void;
  readonly onMissed: () => void;
  /** Of the instance that runs. */
  stop: () => Promise<void>;
}

/** A database that cannot be reopened is not retried for this long: each try takes a second of the event loop. */
const RETRY_MILLISECONDS = 5_000;

/** One statement or transaction at a time. After a crash of PostgreSQL, the next one reopens it. */
class EmbeddedDatabase implements Database {
  readonly kind = "pglite" as const;
  readonly #folder: string;
  readonly #lock: FolderLock;
  readonly #queue = new StatementQueue({ atOnce: 1 });
  readonly #subscriptions = new Set<Subscription>();
  #instance: PgliteInstance | undefined;
  #closed = false;
  #failed: { readonly error: MucastError; readonly at: number } | undefined;

  constructor(folder: string, lock: FolderLock, instance: PgliteInstance) {
    this.#folder = folder;
    this.#lock = lock;
    this.#instance = instance;
  }

  query<T>(text: string, params?: readonly unknown[]): Promise<{ rows: T[] }> {
    return this.#alone((lite) => lite.query<T>(text, params && [...params]));
  }

  exec(text: string): Promise<void> {
    return this.#alone(async (lite) => void (await lite.exec(text)));
  }

  transaction<T>(body: (statements: Queryable) => Promise<T>): Promise<T> {
    return this.#alone((lite) => lite.transaction((transaction) => body(statementsOf(transaction))));
  }

  listen(
    channel: string,
    onNotification: (payload: string) => void,
    onMissed: () => void,
  ): Promise<() => Promise<void>> {
    return this.#alone(async (lite) => {
      const stop = await lite.listen(channel, onNotification);
      const subscription: Subscription = { channel, onNotification, onMissed, stop };
      this.#subscriptions.add(subscription);
      return async () => {
        if (!this.#subscriptions.delete(subscription)) return;
        await this.#queue.run(async () => void (this.#instance && (await subscription.stop())));
      };
    });
  }

  dump(): Promise<Dump> {
    return this.#alone((lite) => lite.transaction(dumpTables));
  }

  /** Writes the rows of a dump into empty tables of its version. */
  load(dump: Dump): Promise<void> {
    return this.#alone((lite) => loadTables(lite, dump));
  }

  /** After all statements before it. */
  close(): Promise<void> {
    return this.#queue.runLast(async () => {
      this.#lock.endIfLost();
      this.#closed = true;
      const instance = this.#instance;
      this.#instance = undefined;
      await instance?.lite.close();
    });
  }

  #alone<T>(body: (lite: PGlite) => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      this.#lock.endIfLost();
      const instance = this.#instance ?? (await this.#openAgain());
      try {
        const answer = await body(instance.lite);
        if (instance.crashed()) throw new Error("PostgreSQL crashed, and PGlite did not report it");
        return answer;
      } catch (cause) {
        if (!instance.crashed()) throw diskError(cause);
        this.#instance = undefined;
        instance.release();
        throw notWritten(cause);
      }
    });
  }

  /** @throws MucastError unavailable. */
  async #openAgain(): Promise<PgliteInstance> {
    if (this.#closed) throw new Error("the database is closed");
    if (this.#failed && performance.now() - this.#failed.at < RETRY_MILLISECONDS) throw this.#failed.error;
    try {
      const instance = await startInstance(this.#folder, this.#lock.endIfLost);
      try {
        for (const subscription of this.#subscriptions) {
          subscription.stop = await instance.lite.listen(subscription.channel, subscription.onNotification);
        }
      } catch (error) {
        instance.release();
        throw error;
      }
      this.#instance = instance;
    } catch (cause) {
      const error = notWritten(cause);
      this.#failed = { error, at: performance.now() };
      throw error;
    }
    this.#failed = undefined;
    for (const { onMissed } of this.#subscriptions) onMissed();
    return this.#instance;
  }
}

/** SQLSTATE classes of a disk that is full, and of files that cannot be read or written. */
const STORING_STATE = /^(53|58|XX)/;

function diskError(cause: unknown): unknown {
  const state = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return STORING_STATE.test(state) ? notWritten(cause) : cause;
}

/** Callers read it, so it contains no path of the machine. */
function notWritten(cause: unknown): MucastError {
  const message = "the database cannot be written to: look at the disk of the data folder";
  return new MucastError("unavailable", message, { retryAfter: 30 }, { cause });
}

function statementsOf(transaction: Transaction): Queryable {
  return { query: (text, params) => transaction.query(text, params && [...params]) };
}
