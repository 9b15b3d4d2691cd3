import { type BigIntStats, statSync } from "node:fs";
import type { BlobStore } from "../blob/store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { Database } from "./database/database.ts";
import { sqliteFile } from "./database/sqlite.ts";
import type { ReadyCheck } from "./http/http-app.ts";

/** A name that only these checks use. */
const PROBE_NAME = "readiness.0.json";
/** As large as the output of a small job. */
const PROBE = new Uint8Array(64 * 2 ** 10);
/** The pause between the end of one round of checks and the start of the next. */
const PAUSE_MILLISECONDS = 5_000;
const FAILED_PAUSE_MILLISECONDS = 1_000;
const TIMEOUT_MILLISECONDS = 10_000;
/** So long a shared database or storage may be away: all services would leave a load balancer at once if it restarts. */
const TOLERATED_MILLISECONDS = 30_000;

interface ReadyParts {
  readonly database: Database;
  readonly store: BlobStore;
  readonly blobFolder: string | undefined;
  /** Whether inputs and outputs are in `data` of the storage itself. With authentication, each caller has a folder. */
  readonly isOneCaller: boolean;
  readonly dataDir: string | undefined;
  readonly phase: () => "starting" | "accepting" | "draining";
}

interface Check {
  readonly name: ReadyCheck["name"];
  readonly run: () => Promise<unknown>;
  /** Whether every other service needs the same database or storage. */
  readonly isShared: boolean;
  /** A check that does not return is not started again: it would block one thread per round. */
  pending?: Promise<unknown> | undefined;
  passedAt?: number;
  failure?: string | undefined;
}

export type Readiness = ReturnType<typeof watchReadiness>;

/** Only its own timer starts the checks, which write. Probes and submissions read the result of the last round. */
export function watchReadiness(parts: ReadyParts) {
  const checks = makeChecks(parts);
  let round: Promise<unknown> | undefined;
  let firstRound: Promise<unknown> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function run(check: Check): Promise<void> {
    check.pending ??= check.run().finally(() => {
      check.pending = undefined;
    });
    const late = new Promise((_, reject) => setTimeout(reject, TIMEOUT_MILLISECONDS).unref());
    try {
      await Promise.race([check.pending, late]);
      check.passedAt = performance.now();
      check.failure = undefined;
    } catch (error) {
      // Anyone may read it: it says what failed, and not where the storage is.
      const { url } = parts.store;
      check.failure =
        error instanceof MucastError ? error.message.replaceAll(url && `${url}/`, "") : "it does not answer";
    }
  }

  /** Runs all checks, ten seconds at most. Only one round runs at a time: a call during a round waits for that one. */
  function look(): Promise<unknown> {
    round ??= Promise.all(checks.map(run)).finally(() => {
      round = undefined;
    });
    firstRound ??= round;
    return round;
  }

  /** Starts the first round, which remembers the current folders before this returns, and repeats it until `close`. */
  function start(): void {
    void look().then(() => {
      const isFailing = checks.some(({ failure }) => failure !== undefined);
      const milliseconds = isFailing ? FAILED_PAUSE_MILLISECONDS : PAUSE_MILLISECONDS;
      if (!isClosed) timer = setTimeout(start, milliseconds).unref();
    });
  }

  return {
    look,
    start,
    /** The result of the last round; if none has ended, of the first. Whether the service accepts jobs is always current. */
    async checks(): Promise<readonly ReadyCheck[]> {
      await firstRound;
      const results = checks.map(({ name, isShared, passedAt, failure }): ReadyCheck => {
        const isTolerated =
          isShared && passedAt !== undefined && performance.now() - passedAt < TOLERATED_MILLISECONDS;
        return failure === undefined || isTolerated
          ? { name, ok: true }
          : { name, ok: false, message: failure };
      });
      const phase = parts.phase();
      if (phase === "accepting") return [...results, { name: "accepting", ok: true }];
      const message = `the service is about to ${phase === "starting" ? "start" : "end"}`;
      return [...results, { name: "accepting", ok: false, message }];
    },
    requireStorage(): void {
      const failed = checks.find(({ name, failure }) => failure !== undefined && name !== "database");
      if (failed === undefined) return;
      const what = failed.name === "storage" ? "storage of the blobs" : "data folder";
      const message = `the ${what} cannot be used: ${failed.failure}`;
      throw new MucastError("unavailable", message, { retryAfter: PAUSE_MILLISECONDS / 1_000 });
    },
    /** Waits for the current round, ten seconds at most, and starts no other. */
    async close(): Promise<void> {
      isClosed = true;
      clearTimeout(timer);
      await round;
    },
  };
}

function makeChecks({ dataDir, blobFolder, isOneCaller, database, store }: ReadyParts): Check[] {
  const places = isOneCaller ? ["data", "status"] : ["status"];
  const checkBlobs = blobFolder === undefined ? () => undefined : pin(blobFolder, "the folder of the blobs");
  const checks: Check[] = [
    {
      name: "database",
      isShared: dataDir === undefined,
      run: () =>
        database.write((db) =>
          db
            .insertInto("readiness")
            .values({ id: 1 })
            .onConflict((conflict) => conflict.column("id").doUpdateSet({ checked_at: database.time() }))
            .execute(),
        ),
    },
    {
      name: "storage",
      isShared: blobFolder === undefined,
      async run() {
        checkBlobs();
        for (const place of places) {
          await store.put(`${place}/${PROBE_NAME}`, PROBE);
          // The storage may allow writes but no removals; then the next check replaces the blob.
          await store.remove(`${place}/${PROBE_NAME}`).catch(() => undefined);
        }
        checkBlobs();
      },
    },
  ];
  if (dataDir === undefined) return checks;
  const pinned = [pin(dataDir, "the data folder"), pin(sqliteFile(dataDir), "the database")];
  return [
    { name: "data_folder", isShared: false, run: async () => pinned.map((check) => check()) },
    ...checks,
  ];
}

/** Compares device and inode with those of the first check. @param shown its name in errors, which callers read. */
function pin(path: string, shown: string): () => void {
  let first: BigIntStats | undefined;
  return () => {
    const now = statSync(path, { bigint: true, throwIfNoEntry: false });
    first ??= now;
    if (now?.ino === first?.ino && now?.dev === first?.dev) return;
    const what = now === undefined ? "is gone" : "is not the one that it was";
    throw new MucastError("unavailable", `${shown} ${what}; put it back, and start the service again`);
  };
}
