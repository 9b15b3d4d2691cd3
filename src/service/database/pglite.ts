import { existsSync } from "node:fs";
import { chmod, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PGlite, type Transaction } from "@electric-sql/pglite";
import { MucastError } from "../../contract/errors/errors.ts";
import { RESTORED } from "../lock/folder-owner.ts";
import type { Database, Queryable } from "./database.ts";
import { makeCluster, notOpened, openingFailure } from "./pglite-cluster.ts";
import { type Dump, type DumpRows, dumpTables, loadTables, type UnsealedHeader } from "./pglite-dump.ts";
import { StatementQueue } from "./statement-queue.ts";

export interface EmbeddedOptions {
  /** The lock of the data folder, which ends the process if it is lost; called before each statement. */
  readonly lock?: { endIfLost(): void } | undefined;
  /**
   * Ends the process after PostgreSQL has panicked, for example because it cannot write its log, or if it can create a file only after its
   * next start, at which it recovers. @param message of PostgreSQL.
   */
  readonly onPanic?: ((message: string) => never) | undefined;
}

/** How PostgreSQL, or the WebAssembly that runs it, reports that it has ended. Text of callers is never at the start of a line. */
const PANIC = /^(?:\d{4}-\d\d-\d\d [\d:.]+ \w+ \[\d+\] (?:PANIC|FATAL): |Aborted\()/;

/** `analyze` reads 3,000 rows instead of 30,000: the service waits meanwhile, and the statements are simple. */
const PREPARE_SESSION =
  "create schema if not exists mucast; set search_path to mucast, public; set default_statistics_target to 10;";

/**
 * Opens PostgreSQL inside this process, with its files in a folder. Only one process may have a folder open: the caller holds the
 * lock of the data folder.
 * @throws MucastError output_failed if a new database cannot be written, unavailable if an existing one cannot be opened.
 */
export async function openPglite(
  folder: string,
  { lock, onPanic = endProcess }: EmbeddedOptions = {},
): Promise<EmbeddedDatabase> {
  const restored = join(dirname(folder), RESTORED);
  // A killed restore leaves it. Beside a database it is stale, and must not replace a later one.
  if (existsSync(folder)) await rm(restored, { recursive: true, force: true });
  else if (existsSync(restored)) await rename(restored, folder);
  if (!existsSync(folder)) await makeCluster(folder);
  // PGlite would silently create a new database there.
  if (!existsSync(join(folder, "PG_VERSION"))) throw notOpened(folder, "it has no file PG_VERSION");
  // PGlite creates files that every user may write, and other users may see the data folder.
  await chmod(folder, 0o700);
  let isOpen = false;
  const onStderr = (line: string) => (isOpen && PANIC.test(line) ? onPanic(line) : true);
  try {
    const lite = await PGlite.create(folder, { onStderr });
    isOpen = true;
    await lite.exec(PREPARE_SESSION);
    return new EmbeddedDatabase(lite, onPanic, lock);
  } catch (cause) {
    throw notOpened(folder, openingFailure(folder, cause), cause);
  }
}

function endProcess(message: string): never {
  process.stderr.write(`mucast: the embedded database has stopped: ${message}\n`);
  process.exit(1);
}

/** One statement or transaction at a time. */
class EmbeddedDatabase implements Database {
  readonly kind = "pglite" as const;
  readonly #lite: PGlite;
  readonly #onPanic: (message: string) => never;
  readonly #lock: EmbeddedOptions["lock"];
  readonly #queue = new StatementQueue({ atOnce: 1 });

  constructor(lite: PGlite, onPanic: (message: string) => never, lock: EmbeddedOptions["lock"]) {
    this.#lite = lite;
    this.#onPanic = onPanic;
    this.#lock = lock;
  }

  query<T>(text: string, params?: readonly unknown[]): Promise<{ rows: T[] }> {
    return this.#alone((lite) => lite.query<T>(text, params && [...params]));
  }

  exec(text: string): Promise<void> {
    return this.#alone(async (lite) => void (await lite.exec(text)));
  }

  transaction<T>(body: (statements: Queryable) => Promise<T>): Promise<T> {
    return this.#alone((lite) => lite.transaction((transaction) => body(this.#statementsOf(transaction))));
  }

  /** Misses nothing: notifications come from this process alone. */
  async listen(channel: string, onNotification: (payload: string) => void): Promise<() => Promise<void>> {
    const stop = await this.#alone((lite) => lite.listen(channel, onNotification));
    return () => this.#alone(() => stop());
  }

  dump(...[write]: Parameters<DumpRows>): Promise<UnsealedHeader> {
    return this.#alone((lite) => lite.transaction((transaction) => dumpTables(transaction, write)));
  }

  /** Writes the rows of a dump into empty tables of its version. */
  load(dump: Dump): Promise<void> {
    return this.#alone((lite) => loadTables(lite, dump));
  }

  /** After all statements before it. */
  close(): Promise<void> {
    return this.#queue.runLast(async () => {
      this.#lock?.endIfLost();
      await this.#lite.close();
    });
  }

  /** A transaction may wait for its caller between two statements. */
  #statementsOf(transaction: Transaction): Queryable {
    return {
      query: (text, params) => {
        this.#lock?.endIfLost();
        return transaction.query(text, params && [...params]);
      },
    };
  }

  #alone<T>(body: (lite: PGlite) => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      this.#lock?.endIfLost();
      try {
        return await body(this.#lite);
      } catch (cause) {
        const state = sqlState(cause);
        if (state === STUCK_FILE) this.#onPanic(String(cause));
        throw STORING_STATE.test(state) ? notWritten(cause) : cause;
      }
    });
  }
}

/** SQLSTATE classes of a disk that is full, and of files that cannot be read or written. */
const STORING_STATE = /^(53|58|XX)/;

/**
 * duplicate_file: Emscripten keeps the name of a file that could not be created, for example without a free descriptor, and reports from
 * then on that it exists.
 */
const STUCK_FILE = "58P02";

function sqlState(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? String(cause.code) : "";
}

/** Callers read it, so it contains no path of the machine. */
function notWritten(cause: unknown): MucastError {
  const message = "the database cannot be written to: look at the disk of the data folder";
  return new MucastError("unavailable", message, { retryAfter: 30 }, { cause });
}
