import { statfsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import { shellWord } from "../../contract/machine/shell-word.ts";
import { deniedFile } from "../lock/folder-owner.ts";
import { listDumps } from "./database-dumps.ts";

/**
 * Creates a new database in memory, which is faster, writes it beside its folder and renames that, so that no service opens an
 * unfinished one.
 * @throws MucastError output_failed; then nothing is left behind.
 */
export async function makeCluster(folder: string): Promise<void> {
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

/** The size of a new database: PGlite 0.4 writes 39 MB. */
const NEW_MEGABYTES = 40;
/** At its start, PostgreSQL may write three segments of its write-ahead log, 16 MiB each. */
const START_BYTES = 48 * 2 ** 20;

/** PGlite throws errors of Emscripten's file system, which are not `Error` objects and have only WASI numbers. */
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
function notMade(folder: string, cause: unknown): MucastError {
  const message =
    `the database cannot be made in ${folder}: ${causeOf(asError(cause))}; ` +
    `it takes ${NEW_MEGABYTES} MB, make room for it, or give another --data-dir`;
  return new MucastError("output_failed", message, { path: folder }, { cause });
}

/**
 * The error of an existing database that cannot be opened: what happened, what is probably lost, and which dump to restore. If the process
 * may not read and write all its files, which PostgreSQL reports like damaged ones, only what permits it.
 */
export function notOpened(folder: string, reason: string, cause?: unknown): MucastError {
  const denied = deniedFile(folder);
  const message = `the database in ${folder} cannot be opened: ${
    denied === undefined ? `${reason}. ${remedy(dirname(folder))}` : `permission denied (EACCES). ${denied}`
  }`;
  return new MucastError("unavailable", message, { path: folder }, { cause });
}

/**
 * Why PostgreSQL ended during its start. PGlite then throws text about its own build and does not report a full disk, so this checks
 * the free space.
 */
export function openingFailure(folder: string, cause: unknown): string {
  if (cause instanceof Error && "severity" in cause) return `PostgreSQL says: ${cause.message}`;
  const free = freeBytes(folder);
  return free < START_BYTES
    ? `its disk has ${Math.floor(free / 2 ** 20)} MiB left, and PostgreSQL writes ${START_BYTES / 2 ** 20} MiB at its start. Make room and start again. ` +
        "If that does not help, the files are damaged"
    : "PostgreSQL stopped while it read its files. They are damaged, as by a failing disk, by a copy that was taken while a service ran, " +
        "or by two services that wrote to them";
}

function remedy(dataDir: string): string {
  const [newest, ...older] = listDumps(dataDir);
  const option = `--data-dir ${shellWord(dataDir)}`;
  if (newest === undefined) {
    return (
      "There is no dump of this database. Its operations and API keys are likely lost; blobs and outputs are not in it. Put a copy of the folder " +
      "in its place, or move it away to begin anew"
    );
  }
  const others = older.length === 0 ? "" : ` (${older.length} older ones are beside it, for --from)`;
  return (
    `\`mucast db restore ${option}\` brings back its newest dump, ${basename(newest)}${others}. Operations, uploads and API keys of ` +
    "after that dump are likely lost; outputs and other blobs are not in the database"
  );
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
