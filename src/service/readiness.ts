import { type BigIntStats, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { BlobStore } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { causeOf } from "../contract/errors/system-error.ts";
import type { Database } from "./database/database.ts";
import { sqliteFile } from "./database/sqlite.ts";
import type { ReadyCheck } from "./http/http-app.ts";

/** A name that only these checks use. */
const PROBE_NAME = "readiness.0.json";
/** As large as the output of a small job. */
const PROBE = new Uint8Array(64 * 2 ** 10);
/** The pause between the end of one round of checks and the start of the next. */
const PAUSE_MILLISECONDS = 5_000;
/** The pause after a round in which a check failed: a database or a storage that is back for seconds, between two failures, has to pass. */
const FAILED_PAUSE_MILLISECONDS = 1_000;
const TIMEOUT_MILLISECONDS = 10_000;
/**
 * How long the database or the storage that services share may fail before a service is no longer ready. No service can do without
 * it, so one that is away for seconds (a restart, a failover) would take all of them out of a load balancer at once, and callers would
 * get refused connections in place of 503 with Retry-After.
 */
const TOLERATED_MILLISECONDS = 30_000;
/** An older round says nothing: this process was stopped, or its timer does not run. */
const STALE_MILLISECONDS = 30_000;

interface ReadyParts {
  readonly database: Database;
  readonly store: BlobStore;
  /** The folder of the blobs; undefined in Azure and S3. */
  readonly blobFolder: string | undefined;
  /** Whether inputs and outputs are in `data` of the storage itself. With authentication, each caller has a folder. */
  readonly isOneCaller: boolean;
  /** The folder of the embedded database; undefined with PostgreSQL. */
  readonly dataDir: string | undefined;
  readonly phase: () => "starting" | "accepting" | "draining";
  /** The time after which a check has failed; 10 s. */
  readonly timeoutMilliseconds?: number | undefined;
}

/** The checks that a submission needs. */
const STORES: Partial<Record<ReadyCheck["name"], string>> = {
  storage: "storage of the blobs",
  data_folder: "data folder",
};

/** What one round found, and when it ended. */
interface Round {
  readonly results: readonly CheckResult[];
  readonly at: number;
}

interface CheckResult extends ReadyCheck {
  /** Whether the service stays ready in spite of a failure, because the part is shared and passed a moment ago. */
  readonly isTolerated: boolean;
}

/**
 * Checks whether the service can do its work: it writes to the storage and to the database, which sync to their disks. Only its own
 * timer starts these checks. Probes and submissions read the result of the last round, and write nothing.
 */
export class Readiness {
  readonly #parts: ReadyParts;
  readonly #checks: readonly Check[];
  #round: Promise<void> | undefined;
  #latest: Round | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(parts: ReadyParts) {
    this.#parts = parts;
    this.#checks = checksOf(parts);
  }

  /** Starts the first round, which remembers the current folders before this returns, and repeats it until `close`. */
  start(): void {
    void this.look().then(() => {
      const hasFailed = this.#latest?.results.some(({ ok }) => !ok);
      const milliseconds = hasFailed ? FAILED_PAUSE_MILLISECONDS : PAUSE_MILLISECONDS;
      if (!this.#closed) this.#timer = setTimeout(() => this.start(), milliseconds).unref();
    });
  }

  /** Runs all checks, ten seconds at most. Only one round runs at a time: a call during a round waits for that one. */
  look(): Promise<void> {
    this.#round ??= this.#look().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  async #look(): Promise<void> {
    const timeout = this.#parts.timeoutMilliseconds ?? TIMEOUT_MILLISECONDS;
    const results = await Promise.all(this.#checks.map((check) => check.run(timeout)));
    this.#latest = { results, at: performance.now() };
  }

  /** The result of the last round; if none has ended, of the first. Whether the service accepts jobs is always current. */
  async checks(): Promise<readonly ReadyCheck[]> {
    if (this.#latest === undefined) await this.#round;
    const { results, at } = this.#latest ?? { results: [], at: performance.now() };
    const age = performance.now() - at;
    const old = `it was last checked ${Math.round(age / 1_000)} s ago`;
    const phase = this.#parts.phase();
    return [
      ...results.map(({ name, ok, message, isTolerated }): ReadyCheck => {
        if (age > STALE_MILLISECONDS) return { name, ok: false, message: old };
        return ok || isTolerated ? { name, ok: true } : { name, ok, message };
      }),
      phase === "accepting"
        ? { name: "accepting", ok: true }
        : { name: "accepting", ok: false, message: NOT_ACCEPTING[phase] },
    ];
  }

  /**
   * @throws MucastError unavailable if the last round could not write to the storage, since every job would fail, or if the file of the
   * database was moved away, since no start would find what is written to it.
   */
  requireStorage(): void {
    const failed = this.#latest?.results.find(({ name, ok }) => !ok && STORES[name] !== undefined);
    if (failed === undefined) return;
    const message = `the ${STORES[failed.name]} cannot be used: ${failed.message}`;
    throw new MucastError("unavailable", message, { retryAfter: PAUSE_MILLISECONDS / 1_000 });
  }

  /** Waits for the current round, ten seconds at most, and starts no other. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#round;
  }
}

const NOT_ACCEPTING = { starting: "the service is about to start", draining: "the service is about to end" };

function checksOf({ dataDir, blobFolder, isOneCaller, database, store }: ReadyParts): Check[] {
  const isShared = { database: dataDir === undefined, storage: blobFolder === undefined };
  const blobs = blobFolder === undefined ? undefined : pin(blobFolder, "the folder of the blobs");
  const blobKeys = [...(isOneCaller ? ["data"] : []), "status"].map((place) => `${place}/${PROBE_NAME}`);
  const checks = [
    new Check("database", () => writeToDatabase(database), isShared.database),
    new Check("storage", () => writeBlobs(store, blobKeys, blobs), isShared.storage),
  ];
  if (dataDir === undefined) return checks;
  const pinned = [pin(dataDir, "the data folder"), pin(sqliteFile(dataDir), "the database")];
  const checkFiles = async () => {
    for (const check of pinned) check();
  };
  return [new Check("data_folder", checkFiles, false), ...checks];
}

/** Commits a row, as a request does. */
async function writeToDatabase(database: Database): Promise<void> {
  await database.write((db) =>
    db
      .insertInto("readiness")
      .values({ id: 1 })
      .onConflict((conflict) => conflict.column("id").doUpdateSet({ checked_at: database.time() }))
      .execute(),
  );
}

async function writeBlobs(
  store: BlobStore,
  keys: readonly string[],
  checkFolder?: () => void,
): Promise<void> {
  checkFolder?.();
  for (const key of keys) {
    await store.put(key, PROBE).catch((error: unknown) => {
      throw withoutUrl(error, store.url);
    });
    // The storage may allow writes but no removals; then the next check replaces the blob.
    await store.remove(key).catch(() => undefined);
  }
  checkFolder?.();
}

/** Anyone may read the answer, which says what failed, and not where the storage is. */
function withoutUrl(error: unknown, url: string): unknown {
  if (!(error instanceof MucastError) || url === "") return error;
  const message = error.message.replaceAll(`${url}/`, "");
  return new MucastError(error.code, message, {}, { cause: error });
}

/** One check, which runs once at a time: one that does not return would block one thread per round. */
class Check {
  readonly #name: ReadyCheck["name"];
  readonly #ask: () => Promise<unknown>;
  /** Whether every other service needs the same database or storage. */
  readonly #isShared: boolean;
  #pending: Promise<unknown> | undefined;
  #passedAt: number | undefined;

  constructor(name: ReadyCheck["name"], ask: () => Promise<unknown>, isShared: boolean) {
    this.#name = name;
    this.#ask = ask;
    this.#isShared = isShared;
  }

  /** Waits for the running check, or starts one. */
  async run(milliseconds: number): Promise<CheckResult> {
    this.#pending ??= this.#ask().finally(() => {
      this.#pending = undefined;
    });
    const name = this.#name;
    const over = new AbortController();
    const late = pause(milliseconds, undefined, { signal: over.signal }).then(
      () => Promise.reject(new Error("late")),
      () => undefined,
    );
    try {
      await Promise.race([this.#pending, late]);
      this.#passedAt = performance.now();
      return { name, ok: true, isTolerated: false };
    } catch (error) {
      const message = error instanceof MucastError ? error.message : "it does not answer";
      const passed = this.#isShared ? this.#passedAt : undefined;
      const isTolerated = passed !== undefined && performance.now() - passed < TOLERATED_MILLISECONDS;
      return { name, ok: false, message, isTolerated };
    } finally {
      over.abort();
    }
  }
}

/**
 * Remembers a file or folder by its device and inode.
 * @param shown its name in errors, which callers read: no path of the machine.
 * @returns a check that throws MucastError unavailable if it is gone or replaced since the first check.
 */
function pin(path: string, shown: string): () => void {
  let first: BigIntStats | undefined;
  return () => {
    let now: BigIntStats | undefined;
    try {
      now = statSync(path, { bigint: true, throwIfNoEntry: false });
    } catch (cause) {
      const message = `${shown} cannot be looked at: ${causeOf(cause)}`;
      throw new MucastError("unavailable", message, {}, { cause });
    }
    first ??= now;
    if (now?.ino === first?.ino && now?.dev === first?.dev) return;
    const what = now === undefined ? "is gone" : "is not the one that it was";
    throw new MucastError("unavailable", `${shown} ${what}; put it back, and start the service again`);
  };
}
