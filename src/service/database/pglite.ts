import { existsSync } from "node:fs";
import { chmod, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PGlite, type Transaction } from "@electric-sql/pglite";
import { MucastError } from "../../contract/errors/errors.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import type { Database, Queryable } from "./database.ts";
import { notMade, notOpened } from "./pglite-errors.ts";
import { Turns } from "./turns.ts";

const SEARCH_PATH = "create schema if not exists mucast; set search_path to mucast, public;";

/**
 * PostgreSQL inside this process, its files in a folder. Only one process may have it open: the caller holds the
 * lock of the data folder.
 * @throws MucastError output_failed where a new one cannot be written, unavailable where one that is there cannot be opened.
 */
export async function openPglite(folder: string): Promise<Database> {
  if (!existsSync(folder)) await makeCluster(folder);
  // PGlite would make a new database there without a word.
  if (!existsSync(join(folder, "PG_VERSION"))) throw notOpened(folder, "it holds no PG_VERSION");
  // PGlite's files may be written by anyone who gets at them, and the data folder may be one that others see.
  await chmod(folder, 0o700);
  const lite = await open(folder);
  const turns = new Turns();
  const alone = <T>(body: () => Promise<T>) => storing(() => turns.take(body));
  return {
    kind: "pglite",
    query: <T>(text: string, params?: readonly unknown[]) =>
      alone(() => lite.query<T>(text, params && [...params])),
    exec: (text) => alone(async () => void (await lite.exec(text))),
    transaction: (body) => alone(() => lite.transaction((transaction) => body(statementsOf(transaction)))),
    listen: (channel, told) => lite.listen(channel, told),
    // After whatever was asked for before.
    close: () => turns.take(() => lite.close()),
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

async function storing<T>(body: () => Promise<T>): Promise<T> {
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
 * Made in memory, which is faster, then written beside its place and renamed, so that one half-made is never opened.
 * @throws MucastError output_failed, with what was written gone again.
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
