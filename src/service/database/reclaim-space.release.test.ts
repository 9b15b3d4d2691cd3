import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { copyNewDatabase } from "../../../test/servers/database-template.testing.ts";
import { listBlobs } from "../store/list-blobs.ts";
import type { Database, Queryable } from "./database.ts";
import { openDatabase } from "./open-database.ts";
import { MAX_LOG_BYTES, reclaimSpace } from "./reclaim-space.ts";

const ROUNDS = 8;
const never = new AbortController().signal;

async function bytesOf(database: Database, sql: string): Promise<number> {
  const { rows } = await database.query<{ bytes: number }>(`select (${sql})::float8 as bytes`);
  return rows[0]!.bytes;
}

test("a database that is written to for long stays small: its log and its tables are reused", async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "mucast-space-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  await copyNewDatabase(dataDir);
  const database = await openDatabase({ databaseUrl: undefined, dataDir });
  const log = () => bytesOf(database, "select sum(size) from pg_ls_waldir()");
  const table = () => bytesOf(database, "pg_total_relation_size('mucast.\"odd name\"')");
  await database.exec(`
    create table mucast."odd name" (n int primary key, text text);
    insert into mucast."odd name" select n, repeat(n::text || ' ', 300) from generate_series(1, 8000) n`);
  const written = await bytesOf(database, "pg_current_wal_lsn() - '0/0'");
  const logs: number[] = [];
  const tables: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await database.exec(`
      update mucast."odd name" set text = repeat(n::text || '${round}', 300);
      select pg_logical_emit_message(true, 'test', repeat(md5(random()::text), 1048576))`);
    await reclaimSpace(database, never);
    logs.push(await log());
    tables.push(await table());
  }
  const total = (await bytesOf(database, "pg_current_wal_lsn() - '0/0'")) - written;
  assert.ok(total > 4 * MAX_LOG_BYTES, `${total} bytes were written`);
  assert.ok(Math.max(...logs) < 3 * MAX_LOG_BYTES, `log: ${logs}`);
  assert.ok(tables.at(-1)! < 1.5 * tables[2]!, `tables: ${tables}`);
  await database.close();
});

test("a list of blobs reads one page of them, however many its caller has", async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "mucast-space-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  await copyNewDatabase(dataDir);
  const database = await openDatabase({ databaseUrl: undefined, dataDir });
  await database.exec(`
    insert into blobs (caller, name, space, bytes, created_at)
    select 'me', 'feature_engine_' || n || '.json', 'mine', 1, now() - n * interval '1 second' from generate_series(1, 20000) n;
    select pg_logical_emit_message(true, 'test', repeat(md5(random()::text), 1048576)) from generate_series(1, 3)`);
  await reclaimSpace(database, never);
  const plan: string[] = [];
  const explained: Queryable = {
    query: async (text, params) => {
      const { rows } = await database.query<{ "QUERY PLAN": string }>(`explain ${text}`, params);
      plan.push(...rows.map((row) => row["QUERY PLAN"]));
      return { rows: [] };
    },
  };
  await listBlobs(explained, "me", { limit: 100, after: undefined });
  assert.ok(
    plan.some((line) => line.includes("blobs_of_caller")) && !plan.some((line) => line.includes("Sort")),
    plan.join("\n"),
  );
  await database.close();
});

test("nothing is done before much has been written, nor for a service that stops", async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "mucast-space-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  await copyNewDatabase(dataDir);
  const database = await openDatabase({ databaseUrl: undefined, dataDir });
  const statements: string[] = [];
  const watched: Database = {
    ...database,
    query: (text, params) => database.query(text, params),
    exec: (text) => {
      statements.push(text);
      return database.exec(text);
    },
  };
  await reclaimSpace(watched, never);
  assert.deepEqual(statements, []);
  await database.exec(
    "select pg_logical_emit_message(true, 'test', repeat(md5(random()::text), 1048576)) from generate_series(1, 3)",
  );
  await reclaimSpace(watched, AbortSignal.abort());
  assert.deepEqual(statements, []);
  await reclaimSpace(watched, never);
  assert.equal(statements.at(-1), "checkpoint");
  await database.close();
});
