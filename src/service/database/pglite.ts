import { mkdirSync } from "node:fs";
import { PGlite, type Transaction } from "@electric-sql/pglite";
import type { Database, Queryable } from "./database.ts";

const SEARCH_PATH = "create schema if not exists mucast; set search_path to mucast, public;";

/**
 * PostgreSQL inside this process, its files in a folder. Only one process may have it open: the caller holds the
 * lock of the data folder.
 */
export async function openPglite(folder: string): Promise<Database> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
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

function statementsOf(transaction: Transaction): Queryable {
  return { query: (text, params) => transaction.query(text, params && [...params]) };
}
