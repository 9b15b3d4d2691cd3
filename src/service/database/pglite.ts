import { existsSync, statfsSync } from "node:fs";
import { chmod, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { PGlite, type Transaction } from "@electric-sql/pglite";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import type { Database, Queryable } from "./database.ts";

const SEARCH_PATH = "create schema if not exists mucast; set search_path to mucast, public;";

/**
 * Opens PostgreSQL inside this process, with its files in a folder. Only one process may have a folder open: the caller holds
 * the lock of the data folder.
 * @throws MucastError output_failed where a new database cannot be written, unavailable where an existing one cannot be opened.
 */
export async function openPglite(folder: string): Promise<Database> {
  if (!existsSync(folder)) await makeCluster(folder);
  // PGlite would silently make a new database there.
  if (!existsSync(join(folder, "PG_VERSION"))) throw notOpened(folder, "it holds no PG_VERSION");
  // PGlite makes files that every user may write, and other users may see the data folder.
  await chmod(folder, 0o700);
  const lite = await open(folder);
  const queue = new StatementQueue();
  const alone = <T>(body: () => Promise<T>) => mapDiskErrors(() => queue.run(body));
  return {
    kind: "pglite",
    query: <T>(text: string, params?: readonly unknown[]) =>
      alone(() => lite.query<T>(text, params && [...params])),
    exec: (text) => alone(async () => void (await lite.exec(text))),
    transaction: (body) => alone(() => lite.transaction((transaction) => body(statementsOf(transaction)))),
    listen: (channel, onNotification) => lite.listen(channel, onNotification),
    // After all statements before it.
    close: () => queue.run(() => lite.close()),
  };
}

async function open(folder: string): Promise<PGlite> {
  try {
    const lite = await PGlite.create(folder);
    await lite.exec(SEARCH_PATH);
    return lite;
  } catch (cause) {
    throw notOpened(folder, cause instanceof Error ? cause.message : "PGlite cannot open it", cause);
  }
}

/** SQLSTATE classes of a disk that is full, and of files that cannot be read or written. */
const STORING_STATE = /^(53|58|XX)/;

async function mapDiskErrors<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (cause) {
    const state = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    if (!STORING_STATE.test(state)) throw cause;
    const message = "the database cannot be written to: look at the disk of the data folder";
    throw new MucastError("unavailable", message, { retryAfter: 30 }, { cause });
  }
}

/**
 * Makes a new database in memory, which is faster, writes it beside its folder and renames that, so that no service opens an
 * unfinished one.
 * @throws MucastError output_failed, with nothing left behind.
 */
async function makeCluster(folder: string): Promise<void> {
  const staged = `${folder}.new`;
  try {
    makeFolder(dirname(folder), 0o700);
    await rm(staged, { recursive: true, force: true });
    await mkdir(staged, { mode: 0o700 });
    const inMemory = await PGlite.create();
    const cluster = await inMemory.dumpDataDir("none");
    await inMemory.close();
    const onDisk = await PGlite.create(staged, { loadDataDir: cluster });
    await onDisk.close();
    await rename(staged, folder);
  } catch (cause) {
    await rm(staged, { recursive: true, force: true }).catch(() => undefined);
    throw notMade(folder, cause);
  }
}

function statementsOf(transaction: Transaction): Queryable {
  return { query: (text, params) => transaction.query(text, params && [...params]) };
}

/** The size of a new database: PGlite 0.4 writes 39 MB. */
const NEW_MEGABYTES = 40;
/** At its start PostgreSQL may write three segments of its write-ahead log, of 16 MiB each. */
const START_BYTES = 48 * 2 ** 20;

/** PGlite throws errors of Emscripten's file system, which are no `Error` and carry only WASI's numbers. */
const WASI_CODES: Readonly<Record<number, string>> = {
  2: "EACCES",
  19: "EDQUOT",
  22: "EFBIG",
  29: "EIO",
  33: "EMFILE",
  51: "ENOSPC",
  63: "EPERM",
  69: "EROFS",
};

/** The error of a new database that cannot be written. */
export function notMade(folder: string, cause: unknown): MucastError {
  const message =
    `the database cannot be made in ${folder}: ${causeOf(asError(cause))}; ` +
    `it takes ${NEW_MEGABYTES} MB, make room for it, or give another --data-dir`;
  return new MucastError("output_failed", message, { path: folder }, { cause });
}

/** The error of an existing database that cannot be opened. Adds the free room of a full disk, which PGlite does not report. */
export function notOpened(folder: string, reason: string, cause?: unknown): MucastError {
  const free = freeBytes(folder);
  const room =
    free < START_BYTES
      ? `its disk has ${Math.floor(free / 2 ** 20)} MiB left, so make room first, and if that does not help `
      : "";
  const message = `the database in ${folder} cannot be opened: ${reason}; ${room}bring it back from a copy, or move it away to begin anew`;
  return new MucastError("unavailable", message, { path: folder }, { cause });
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(folder));
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function asError(cause: unknown): Error {
  if (cause instanceof Error) return cause;
  const errno = typeof cause === "object" && cause !== null && "errno" in cause ? Number(cause.errno) : 0;
  return Object.assign(new Error("PGlite cannot write it"), { code: WASI_CODES[errno] });
}

/**
 * Runs statements one after the other, each in its own turn of the event loop. PGlite computes and never waits for I/O, so
 * without this it would hold the loop until no statement is left. Then the service would answer one request completely before
 * it reads the next one, and the newest connections would wait longest, since the loop accepts one a turn.
 */
export class StatementQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `body` after all earlier ones. @returns its result, or throws its error. */
  run<T>(body: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(body);
    const over = () => nextTurn();
    this.#last = turn.then(over, over);
    return turn;
  }
}
