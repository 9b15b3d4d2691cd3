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
/** The checks write to the disk once in this time, however many probes come. */
const FRESH_MILLISECONDS = 3_000;
const TIMEOUT_MILLISECONDS = 10_000;

interface ReadyParts {
  readonly database: Database;
  readonly store: BlobStore;
  /** The folder of the blobs; undefined in Azure. */
  readonly blobFolder: string | undefined;
  /** Whether inputs and outputs are in `data` of the storage itself. With authentication each caller has a folder. */
  readonly isOneCaller: boolean;
  /** The folder of the embedded database and the lock; undefined with PostgreSQL. */
  readonly dataDir: string | undefined;
  readonly phase: () => ServicePhase;
}

/** A service accepts from the moment in which it has a dispatcher until it drains. */
export type ServicePhase = "starting" | "accepting" | "draining";

export interface Readiness {
  /**
   * Checks whether the service can do its work. It writes and syncs in the data folder and in the storage, and has the
   * database write to its disk, at most every three seconds. Whether the service accepts jobs is always current.
   */
  check(): Promise<readonly ReadyCheck[]>;
  /** Waits for the answer of a check that is under way, ten seconds at most. Nothing may be checked after. */
  close(): Promise<void>;
}

export function openReadiness(parts: ReadyParts): Readiness {
  const { dataDir, blobFolder, isOneCaller, database, store, phase } = parts;
  const folder = dataDir === undefined ? undefined : new PinnedPath(dataDir, "the data folder");
  const control = dataDir && new PinnedPath(join(dataDir, "database/global/pg_control"), "the database");
  const blobs = blobFolder === undefined ? undefined : new PinnedPath(blobFolder, "the folder of the blobs");
  const blobKeys = [...(isOneCaller ? ["data"] : []), "status"].map((place) => `${place}/${PROBE_NAME}`);
  const checks = cachedFor(FRESH_MILLISECONDS, () =>
    Promise.all([
      ...(dataDir === undefined ? [] : [check("data_folder", () => writeIn(dataDir, folder!))]),
      check("database", () => writeToDatabase(database, control || undefined)),
      check("storage", () => writeBlobs(store, blobKeys, blobs)),
    ]),
  );
  let latest: Promise<readonly ReadyCheck[]> = Promise.resolve([]);
  return {
    check: async () => {
      latest = checks();
      return [...(await latest), acceptance(phase())];
    },
    close: async () => void (await latest),
  };
}

const NOT_ACCEPTING = {
  starting: "the service is about to start",
  draining: "the service is about to end, or has lost its data folder",
} as const;

function acceptance(phase: ServicePhase): ReadyCheck {
  return phase === "accepting"
    ? { name: "accepting", ok: true }
    : { name: "accepting", ok: false, message: NOT_ACCEPTING[phase] };
}

async function writeIn(folder: string, pinned: PinnedPath): Promise<void> {
  pinned.check();
  const path = join(folder, `readiness.${process.pid}`);
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

/**
 * Writes a message to PostgreSQL's write-ahead log, which the commit syncs: a hundred bytes until the log is recycled. An
 * embedded database also makes a temporary file of 68 KiB and removes it, as operations may need a new file at any time.
 */
async function writeToDatabase(database: Database, control: PinnedPath | undefined): Promise<void> {
  control?.check();
  await database.query("select pg_logical_emit_message(true, 'mucast', 'readiness')");
  if (database.kind !== "pglite") return;
  await database.transaction(async (statements) => {
    // The least that PostgreSQL allows; more rows than that go to a file.
    await statements.query("set local work_mem = '64kB'");
    await statements.query("select count(*) from generate_series(1, 5000)");
  });
}

async function writeBlobs(store: BlobStore, keys: readonly string[], folder?: PinnedPath): Promise<void> {
  folder?.check();
  for (const key of keys) {
    await store.put(key, PROBE);
    // The storage may allow writes and no removals; then the next check replaces the blob.
    await store.remove(key).catch(() => undefined);
  }
  folder?.check();
}

async function check(name: ReadyCheck["name"], ask: () => Promise<unknown>): Promise<ReadyCheck> {
  const over = new AbortController();
  const late = pause(TIMEOUT_MILLISECONDS, undefined, { signal: over.signal }).then(
    () => Promise.reject(new Error("late")),
    () => undefined,
  );
  try {
    await Promise.race([ask(), late]);
    return { name, ok: true };
  } catch (error) {
    return { name, ok: false, message: error instanceof MucastError ? error.message : "it does not answer" };
  } finally {
    over.abort();
  }
}

/**
 * Asks once at a time, and not again while the answer is fresh: all calls meanwhile get that answer.
 * @param now milliseconds of a clock that is never set.
 */
export function cachedFor<T>(
  milliseconds: number,
  ask: () => Promise<T>,
  now: () => number = () => performance.now(),
): () => Promise<T> {
  let asked: { readonly answer: Promise<T>; over?: number } | undefined;
  return () => {
    if (asked && (asked.over === undefined || now() - asked.over < milliseconds)) return asked.answer;
    const current: NonNullable<typeof asked> = { answer: ask() };
    asked = current;
    const end = () => {
      current.over = now();
    };
    current.answer.then(end, end);
    return current.answer;
  };
}

/** A file or folder that must stay the one that was seen first, by its device and inode. */
class PinnedPath {
  readonly #path: string;
  readonly #shown: string;
  #first: BigIntStats | undefined;

  /** @param shown its name in errors, which callers read: no path of the machine. */
  constructor(path: string, shown: string) {
    this.#path = path;
    this.#shown = shown;
  }

  /** @throws MucastError unavailable where the one seen before is gone or replaced. The first call remembers it. */
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
