import { type BigIntStats, statSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { BlobStore } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { causeOf } from "../contract/errors/system-error.ts";
import type { Database } from "./database/database.ts";
import type { ReadyCheck } from "./http/server/http-app.ts";

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
  /** The folder of the embedded database and the lock; undefined with PostgreSQL. */
  readonly dataDir: string | undefined;
  /** Ends a process that has lost its data folder, before a check writes anything there. */
  readonly checkLock?: () => void;
  readonly phase: () => ServicePhase;
  /** The time after which a check has failed; 10 s. */
  readonly timeoutMilliseconds?: number | undefined;
}

/** A service accepts jobs from the moment it has a dispatcher until it drains. */
export type ServicePhase = "starting" | "accepting" | "draining";

/** What one round found, and when it ended. */
interface Round {
  readonly found: readonly ReadyCheck[];
  /** The same, in which a shared part that passed a moment ago passes. */
  readonly checks: readonly ReadyCheck[];
  readonly at: number;
}

/**
 * Checks whether the service can do its work: it writes and syncs in the data folder and in the storage, makes the database write to
 * its disk, and asks it for the locks and permissions of a request. Only its own timer starts these checks. Probes and submissions
 * read the result of the last round, and write nothing.
 */
export class Readiness {
  readonly #parts: ReadyParts;
  readonly #timeout: number;
  readonly #checks: readonly Check[];
  #round: Promise<void> | undefined;
  #latest: Round | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(parts: ReadyParts) {
    this.#parts = parts;
    this.#timeout = parts.timeoutMilliseconds ?? TIMEOUT_MILLISECONDS;
    this.#checks = checksOf(parts);
  }

  /** Starts the first round, which remembers the current folders before this returns, and repeats it until `close`. */
  start(): void {
    void this.look().then(() => {
      const hasFailed = this.#latest?.found.some(({ ok }) => !ok);
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
    this.#parts.checkLock?.();
    const found = await Promise.all(this.#checks.map((check) => check.run(this.#timeout)));
    const at = performance.now();
    const checks = found.map((check, index) =>
      this.#checks[index]!.isTolerated(at) ? { name: check.name, ok: true } : check,
    );
    this.#latest = { found, checks, at };
  }

  /** The result of the last round; if none has ended, of the first. Whether the service accepts jobs is always current. */
  async checks(): Promise<readonly ReadyCheck[]> {
    if (this.#latest === undefined) await this.#round;
    const { checks, at } = this.#latest ?? { checks: [], at: performance.now() };
    const age = performance.now() - at;
    return [
      ...(age > STALE_MILLISECONDS ? checks.map((check) => outdatedCheck(check, age)) : checks),
      this.#acceptance(),
    ];
  }

  /** @throws MucastError unavailable if the last round could not write to the storage, since every job would fail. */
  requireStorage(): void {
    const storage = this.#latest?.found.find(({ name }) => name === "storage");
    if (storage === undefined || storage.ok) return;
    const message = `the storage of the blobs cannot be used: ${storage.message}`;
    throw new MucastError("unavailable", message, { retryAfter: PAUSE_MILLISECONDS / 1_000 });
  }

  /** Waits for the current round, ten seconds at most, and starts no other. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  #acceptance(): ReadyCheck {
    const phase = this.#parts.phase();
    return phase === "accepting"
      ? { name: "accepting", ok: true }
      : { name: "accepting", ok: false, message: NOT_ACCEPTING[phase] };
  }
}

function outdatedCheck({ name }: ReadyCheck, age: number): ReadyCheck {
  return { name, ok: false, message: `it was last checked ${Math.round(age / 1_000)} s ago` };
}

function checksOf({ dataDir, blobFolder, isOneCaller, database, store }: ReadyParts): Check[] {
  const blobs = blobFolder === undefined ? undefined : new PinnedPath(blobFolder, "the folder of the blobs");
  const blobKeys = [...(isOneCaller ? ["data"] : []), "status"].map((place) => `${place}/${PROBE_NAME}`);
  const storage = new Check("storage", () => writeBlobs(store, blobKeys, blobs), {
    isShared: blobs === undefined,
  });
  if (dataDir === undefined)
    return [new Check("database", () => writeToDatabase(database), { isShared: true }), storage];
  const folder = new PinnedPath(dataDir, "the data folder");
  const control = new PinnedPath(join(dataDir, "database/global/pg_control"), "the database");
  return [
    new Check("data_folder", () => writeIn(dataDir, folder)),
    new Check("database", () => writeToDatabase(database, control)),
    storage,
  ];
}

const NOT_ACCEPTING = {
  starting: "the service is about to start",
  draining: "the service is about to end",
} as const;

async function writeIn(folder: string, pinned: PinnedPath): Promise<void> {
  pinned.check();
  const path = join(folder, PROBE_NAME);
  try {
    const file = await open(path, "w", 0o600);
    try {
      await file.write(PROBE);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw new MucastError(
      "unavailable",
      `the data folder cannot be written: ${causeOf(cause)}`,
      {},
      { cause },
    );
  } finally {
    await rm(path, { force: true }).catch(() => undefined);
  }
}

/** Every table that a request writes, or may write. */
const TABLES = [
  "operations",
  "events",
  "blobs",
  "blob_usage",
  "webhook_deliveries",
  "api_keys",
  "report_links",
];

/** Takes the locks of a write and needs a server that is not read-only, but changes no row and leaves nothing behind. */
const WRITE_NOTHING = `with ${TABLES.map((table) => `on_${table} as (delete from ${table} where false)`).join(", ")} select 1`;

/**
 * Makes the database do what it does for a request. Then writes a message to PostgreSQL's write-ahead log, which the commit syncs: a
 * hundred bytes until the log is recycled. An embedded database also creates and removes a temporary file of 68 KiB, as operations
 * may need a new file at any time.
 */
async function writeToDatabase(database: Database, control?: PinnedPath): Promise<void> {
  control?.check();
  await database.query(WRITE_NOTHING);
  await database.query("select pg_logical_emit_message(true, 'mucast', 'readiness')");
  if (database.kind !== "pglite") return;
  await database.transaction(async (statements) => {
    // The minimum that PostgreSQL allows; more rows than that go to a file.
    await statements.query("set local work_mem = '64kB'");
    await statements.query("select count(*) from generate_series(1, 5000)");
  });
}

async function writeBlobs(store: BlobStore, keys: readonly string[], folder?: PinnedPath): Promise<void> {
  folder?.check();
  for (const key of keys) {
    await store.put(key, PROBE).catch((error: unknown) => {
      throw withoutUrl(error, store.url);
    });
    // The storage may allow writes but no removals; then the next check replaces the blob.
    await store.remove(key).catch(() => undefined);
  }
  folder?.check();
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

  constructor(name: ReadyCheck["name"], ask: () => Promise<unknown>, { isShared = false } = {}) {
    this.#name = name;
    this.#ask = ask;
    this.#isShared = isShared;
  }

  /** Whether a failure of this check leaves the service ready, because the shared part passed a moment ago. */
  isTolerated(now: number): boolean {
    return this.#isShared && this.#passedAt !== undefined && now - this.#passedAt < TOLERATED_MILLISECONDS;
  }

  /** Waits for the running check, or starts one. */
  async run(milliseconds: number): Promise<ReadyCheck> {
    this.#pending ??= this.#ask().finally(() => {
      this.#pending = undefined;
    });
    const over = new AbortController();
    const late = pause(milliseconds, undefined, { signal: over.signal }).then(
      () => Promise.reject(new Error("late")),
      () => undefined,
    );
    try {
      await Promise.race([this.#pending, late]);
      this.#passedAt = performance.now();
      return { name: this.#name, ok: true };
    } catch (error) {
      const message = error instanceof MucastError ? error.message : "it does not answer";
      return { name: this.#name, ok: false, message };
    } finally {
      over.abort();
    }
  }
}

/** A file or folder that must remain the one that was seen first, by its device and inode. */
class PinnedPath {
  readonly #path: string;
  readonly #shown: string;
  #first: BigIntStats | undefined;

  /** @param shown its name in errors, which callers read: no path of the machine. */
  constructor(path: string, shown: string) {
    this.#path = path;
    this.#shown = shown;
  }

  /** @throws MucastError unavailable if the one seen before is gone or replaced. The first call remembers it. */
  check(): void {
    let now: BigIntStats | undefined;
    try {
      now = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    } catch (cause) {
      throw new MucastError(
        "unavailable",
        `${this.#shown} cannot be looked at: ${causeOf(cause)}`,
        {},
        { cause },
      );
    }
    this.#first ??= now;
    if (now?.ino === this.#first?.ino && now?.dev === this.#first?.dev) return;
    const what = now === undefined ? "is gone" : "is not the one that it was";
    throw new MucastError("unavailable", `${this.#shown} ${what}; put it back, and start the service again`);
  }
}
