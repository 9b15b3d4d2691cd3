import { existsSync } from "node:fs";
import { chmod, mkdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { PGlite, type Transaction } from "@electric-sql/pglite";
import type { Database, Queryable } from "./database.ts";

const SEARCH_PATH = "create schema if not exists mucast; set search_path to mucast, public;";

/**
 * PostgreSQL inside this process, its files in a folder. Only one process may have it open: the caller holds the
 * lock of the data folder.
 */
export async function openPglite(folder: string): Promise<Database> {
  if (!existsSync(folder)) await makeCluster(folder);
  // PGlite's files may be written by anyone who gets at them, and the data folder may be one that others see.
  await chmod(folder, 0o700);
  const lite = await PGlite.create(folder);
  await lite.exec(SEARCH_PATH);
  return {
    kind: "pglite",
    query: async <T>(text: string, params?: readonly unknown[]) => lite.query<T>(text, params && [...params]),
    exec: async (text) => void (await lite.exec(text)),
    transaction: (body) => lite.transaction((transaction) => body(statementsOf(transaction))),
    listen: (channel, told) => lite.listen(channel, told),
    close: () => lite.close(),
  };
}

/** Made in memory, which is faster, then written beside its place and renamed, so that one half-made is never opened. */
async function makeCluster(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  const staged = `${folder}.new`;
  await rm(staged, { recursive: true, force: true });
  await mkdir(staged, { mode: 0o700 });
  const inMemory = await PGlite.create();
  const cluster = await inMemory.dumpDataDir("none");
  await inMemory.close();
  const onDisk = await PGlite.create(staged, { loadDataDir: cluster });
  await onDisk.close();
  await rename(staged, folder);
}

function statementsOf(transaction: Transaction): Queryable {
  return { query: (text, params) => transaction.query(text, params && [...params]) };
}
