import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { copyNewDatabase } from "../../../test/servers/database-template.testing.ts";
import { type Postgres, startPostgres } from "../../../test/servers/postgres.testing.ts";
import { WHOLE_MATRIX } from "../../../test/whole-matrix.testing.ts";
import type { Database } from "./database.ts";
import { openDatabase } from "./open-database.ts";
import { migrate } from "./schema.ts";

/** A database of each kind, for the same tests on both. */
export interface TestDatabase {
  readonly kind: Database["kind"];
  /** The database with its tables up to date, opened once for all tests. */
  database(): Database;
  /** Opens it as another service would; PostgreSQL only. */
  another(): Promise<Database>;
}

/** The database with another `query`, which can call the original as `ask`. */
export function withQuery(
  database: Database,
  query: (ask: Database["query"], text: string, params?: readonly unknown[]) => Promise<{ rows: never[] }>,
): Database {
  return {
    kind: database.kind,
    query: (text, params) => query(database.query.bind(database), text, params),
    exec: (text) => database.exec(text),
    transaction: (body, time) => database.transaction(body, time),
    listen: (channel, onNotification, onMissed) => database.listen(channel, onNotification, onMissed),
    close: () => database.close(),
  };
}

/** Opened with the first tests of this process that need it, and closed after the last. */
let embedded: Promise<{ readonly folder: string; readonly database: Database }> | undefined;
let server: Promise<Postgres> | undefined;

after(async () => {
  const opened = await embedded;
  await opened?.database.close();
  if (opened) rmSync(opened.folder, { recursive: true, force: true });
  await (await server)?.stop();
});

/** PGlite takes a second of processor time to open a new database, so the tests of a process share one, with empty tables for each. */
async function emptyEmbedded(): Promise<Database> {
  if (embedded) {
    const { database } = await embedded;
    // Tests of migrations leave all tables; new ones would take half a second of processor time.
    await migrate(database);
    await database.exec(`do $$ begin execute (
      select 'truncate ' || string_agg(format('mucast.%I', tablename), ', ') || ' restart identity cascade'
      from pg_tables where schemaname = 'mucast' and tablename <> 'migrations'
    ); end $$`);
    return database;
  }
  embedded = openEmbedded();
  return (await embedded).database;
}

async function openEmbedded(): Promise<{ folder: string; database: Database }> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-database-"));
  await copyNewDatabase(folder);
  return { folder, database: await openDatabase({ databaseUrl: undefined, dataDir: folder }) };
}

type Declare = (tested: TestDatabase) => void;

/** Declares tests for a real PostgreSQL server and, in the release tier, the same for PGlite. */
export function onEachDatabase(declare: Declare): void {
  if (WHOLE_MATRIX) onPGlite(declare);
  onPostgres(declare);
}

/** Declares the same tests for PGlite and for a real PostgreSQL server, in every tier. */
export function onBothDatabases(declare: Declare): void {
  onPGlite(declare);
  onPostgres(declare);
}

function onPGlite(declare: Declare): void {
  describe("on PGlite", () => {
    let database: Database;
    before(async () => {
      database = await emptyEmbedded();
    });
    declare({
      kind: "pglite",
      database: () => database,
      another: () => Promise.reject(new Error("PGlite is opened by one process, once")),
    });
  });
}

function onPostgres(declare: Declare): void {
  describe("on PostgreSQL", () => {
    let url: string;
    let database: Database;
    const others: Database[] = [];
    before(async () => {
      server ??= startPostgres();
      url = await (await server).newDatabase();
      database = await openDatabase({ databaseUrl: url, dataDir: "" });
    });
    after(async () => {
      for (const other of others) await other.close();
      await database.close();
    });
    declare({
      kind: "postgres",
      database: () => database,
      another: async () => {
        others.push(await openDatabase({ databaseUrl: url, dataDir: "" }));
        return others.at(-1)!;
      },
    });
  });
}
