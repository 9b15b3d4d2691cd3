import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import type { Insertable } from "kysely";
import { type Postgres, startPostgres } from "../../../test/servers/postgres.testing.ts";
import { type Database, type DatabaseSettings, openDatabase } from "./database.ts";
import type { Tables } from "./tables.ts";

export type TestDatabase = ReturnType<typeof testDatabase>;

/** Started with the first tests of this process that need it, and stopped after the last. */
let server: Promise<Postgres> | undefined;

after(async () => (await server)?.stop());

/** A new PostgreSQL database. */
export async function newPostgresUrl(): Promise<string> {
  server ??= startPostgres();
  return (await server).newDatabase();
}

/** Declares tests for SQLite and for a real PostgreSQL server. */
export function onEachDatabase(declare: (tested: TestDatabase) => void): void {
  describe("on SQLite", () => {
    const folder = mkdtempSync(join(tmpdir(), "mucast-database-"));
    after(() => rmSync(folder, { recursive: true, force: true }));
    declare(testDatabase(async () => ({ data_dir: folder })));
  });
  describe("on PostgreSQL", () =>
    declare(testDatabase(async () => ({ data_dir: "", database_url: await newPostgresUrl() }))));
}

/** A database that is opened once for all tests; `another` opens it as another service would. */
function testDatabase(makeSettings: () => Promise<DatabaseSettings>) {
  let settings: DatabaseSettings;
  const opened: Database[] = [];
  const open = async () => {
    opened.push(await openDatabase(settings));
    return opened.at(-1)!;
  };
  before(async () => {
    settings = await makeSettings();
    await open();
  });
  after(async () => {
    for (const database of opened) await database.close();
  });
  return { database: () => opened[0]!, another: open };
}

/** The database with some members replaced. */
export function withMembers(database: Database, members: Partial<Database>): Database {
  return new Proxy(database, {
    get(target, key) {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key);
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Empties the tables of jobs. */
export async function removeOperations(database: Database): Promise<void> {
  await database.write((db) => db.deleteFrom("operations").execute());
}

/** Stores an operation with its first event. */
export async function storeQueued(database: Database, id: string): Promise<void> {
  await database.write(async (db) => {
    await db
      .insertInto("operations")
      .values({ ...newRow(id, "me"), last_seq: 1 })
      .execute();
    await database.insertEvents(db, [{ operation_id: id, seq: 1, type: "queued", data: "{}" }]);
  });
}

/** A row of an operation, with no more than it needs. */
export function newRow(
  id: string,
  caller: string,
): Insertable<Tables["operations"]> & { readonly id: string } {
  return {
    ...{ id, caller, space: "", operation: "run_ml_job", options: "{}", tags: "[]" },
    ...{ feature_url: "", data_extractor_url: "", config: "{}", config_sha256: "", body_sha256: "" },
  };
}
