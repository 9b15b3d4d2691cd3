import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, test } from "node:test";
import { copyNewDatabase } from "../../../test/servers/database-template.testing.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { noLog } from "../telemetry/log.ts";
import type { Database } from "./database.ts";
import {
  dumpDatabase,
  dumpFolder,
  listDumps,
  MAX_DUMPS,
  readDump,
  startDumps,
  writeDump,
} from "./database-dumps.ts";
import { openDatabase } from "./open-database.ts";
import { type DumpRows, dumpTables } from "./pglite-dump.ts";
import { restoreDatabase } from "./restore-database.ts";
import { MIGRATIONS } from "./schema.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-dumps-"));
after(() => rmSync(folder, { recursive: true, force: true }));

async function openNew(name: string): Promise<{ dataDir: string; database: Database }> {
  const dataDir = join(folder, name);
  await copyNewDatabase(dataDir);
  return { dataDir, database: await openDatabase({ databaseUrl: undefined, dataDir }) };
}

async function rowsOf(database: Database, query: string): Promise<unknown[]> {
  return (await database.query(query)).rows;
}

const isHeld = () => undefined;

/** Values that a text format could spoil. */
const FILL = `
  insert into operations (id, caller, operation, feature_url, data_extractor_url, config, config_sha256, body_sha256, status,
    attempt, last_seq, pruned_seq, created_at, finished_at, warnings)
  values
    ('ended', E'tab\\tbreak\\nslash\\\\ \\u2028 \\\\N', 'run_ml_job', '', '', '', 'c', 'b', 'Succeeded', 1, 3, 1,
      '2026-01-02T03:04:05.678901Z', '2026-01-02T03:05:05.123456Z', '[{"a": "\\u0000"}]'),
    ('waits', 'me', 'run_ml_job', '', '', '{}', 'c', 'b', 'NotStarted', 0, 1, 0, now(), null, '[]'),
    ('runs', 'me', 'run_dl_job', '', '', '{}', 'c', 'b', 'Running', 2, 2, 0, now(), null, '[]');
  insert into events (operation_id, seq, type, data) values
    ('ended', 2, 'progress', '{"n": 2}'), ('ended', 3, 'succeeded', '{"n": 3}'),
    ('waits', 1, 'queued', '{}'), ('runs', 1, 'queued', '{}'), ('runs', 2, 'started', '{}');
  insert into api_keys (id, name, hash, subject, scopes) values ('k', 'key "k"', 'h', 'key:k', '{read,"a,b"}');
  -- More pages than one statement of a dump reads.
  insert into api_keys (id, name, hash, subject, scopes)
  select n, repeat('x', 400), n, 'key:' || n, '{read}' from generate_series(1, 4000) n;
  insert into report_links (hash, caller, operation_id, expires_at) values ('secret', 'me', 'ended', now());
`;

test("a restored dump has every row, and goes on where the database was", async () => {
  const { dataDir, database } = await openNew("whole");
  await database.exec(FILL);
  const state = async (of: Database) => [
    await rowsOf(
      of,
      "select id, caller, created_at::text, finished_at::text, warnings::text from operations order by id",
    ),
    await rowsOf(of, "select * from api_keys order by id"),
    await rowsOf(of, "select version from migrations order by version"),
  ];
  const before = await state(database);
  const { path } = await dumpDatabase(dataDir, (write) => database.dump!(write));
  assert.deepEqual([statSync(path).mode & 0o777, statSync(dirname(path)).mode & 0o777], [0o600, 0o700]);
  await database.query("delete from operations");
  await database.close();

  const aside = await restoreDatabase(dataDir, await readDump(path), isHeld);
  const restored = await openDatabase({ databaseUrl: undefined, dataDir });
  assert.deepEqual(await state(restored), before);
  assert.deepEqual(
    await rowsOf(restored, "select operation_id, seq, data::text from events order by operation_id, seq"),
    [
      { operation_id: "ended", seq: 3, data: '{"n": 3}' },
      { operation_id: "runs", seq: 1, data: "{}" },
      { operation_id: "runs", seq: 2, data: "{}" },
      { operation_id: "waits", seq: 1, data: "{}" },
    ],
  );
  // A service recovers what had not ended: it looks for outputs first, and no attempt counts as lost.
  assert.deepEqual(
    await rowsOf(
      restored,
      "select id, status, attempt, drained_attempt, lost, pruned_seq from operations order by id",
    ),
    [
      { id: "ended", status: "Succeeded", attempt: 1, drained_attempt: 0, lost: 0, pruned_seq: 2 },
      { id: "runs", status: "Running", attempt: 2, drained_attempt: 2, lost: 0, pruned_seq: 0 },
      { id: "waits", status: "Running", attempt: 1, drained_attempt: 1, lost: 0, pruned_seq: 0 },
    ],
  );
  assert.deepEqual(await rowsOf(restored, "select * from report_links"), []);
  await restored.query(
    `insert into operations (id, caller, operation, feature_url, data_extractor_url, config, config_sha256, body_sha256)
     values ('next', 'me', 'run_ml_job', '', '', '', 'c', 'b')`,
  );
  assert.deepEqual(await rowsOf(restored, "select ordinal::int from operations where id = 'next'"), [
    { ordinal: 4 },
  ]);
  await restored.close();

  rmSync(join(dataDir, "database"), { recursive: true });
  assert.ok(aside !== undefined && readdirSync(aside).includes("PG_VERSION"), "the former one is kept");
});

test("the rows of a dump come in small pieces, also long values, and none stays on disk uncompressed", async () => {
  const { dataDir, database } = await openNew("pieces");
  // PostgreSQL stores such values outside of the pages of their table.
  await database.exec(`
    insert into operations (id, caller, operation, feature_url, data_extractor_url, config, config_sha256, body_sha256, payload)
    select n, 'me', 'run_ml_job', '', '', '', 'c', 'b',
      (select string_agg(md5(n || ' ' || part), '') from generate_series(1, 1000) part)
    from generate_series(1, 1000) n`);
  writeRowsOfKilledDump(dataDir);
  const pieces: number[] = [];
  const { path } = await dumpDatabase(dataDir, (write) =>
    database.dump!((rows) => {
      pieces.push(rows.length);
      return write(rows);
    }),
  );
  await database.close();
  const all = pieces.reduce((sum, bytes) => sum + bytes, 0);
  assert.ok(
    all > 32_000_000 && Math.max(...pieces) < 4_000_000,
    `${all} bytes, at most ${Math.max(...pieces)}`,
  );
  assert.deepEqual(readdirSync(dumpFolder(dataDir)), [basename(path)]);
  assert.equal((await readDump(path)).header.operations, 1_000);
});

test("values that PostgreSQL compresses come in small pieces beside many short ones", async () => {
  const { database } = await openNew("compressed");
  await database.exec(`
    insert into operations (id, caller, operation, feature_url, data_extractor_url, config, config_sha256, body_sha256, payload)
    select n, repeat('c', 500), 'run_ml_job', repeat('f', 70), repeat('p', 70), '', repeat('c', 64), repeat('b', 64),
      case when n > 20000 then repeat('x', 200000) end
    from generate_series(1, 20600) n`);
  const pieces: number[] = [];
  await database.dump!(async (rows) => void pieces.push(rows.length));
  await database.close();
  const all = pieces.reduce((sum, bytes) => sum + bytes, 0);
  assert.ok(
    all > 120_000_000 && Math.max(...pieces) < 40_000_000,
    `${all} bytes, at most ${Math.max(...pieces)}`,
  );
});

test("each statement of a dump reads its own pages, however many operations there are", async () => {
  const { database } = await openNew("plans");
  await database.exec(`
    insert into operations (id, caller, operation, feature_url, data_extractor_url, config, config_sha256, body_sha256, status,
      last_seq, finished_at)
    select n, 'me', 'run_ml_job', '', '', '', 'c', 'b', 'Canceled', 3, now() from generate_series(1, 20000) n;
    insert into events (operation_id, seq, type, data)
    select n, seq, 'progress', '{}' from generate_series(1, 20000) n, generate_series(1, 3) seq;
    insert into webhook_deliveries (operation_id, seq, target) select n, 2, 'a' from generate_series(1, 20000) n`);
  for (const analysis of ["", "analyze"]) {
    await database.exec(analysis);
    const plan: string[] = [];
    const query = async (text: string, params: unknown[] = []) => {
      const copied = /^copy \((.*)\) to/s.exec(text)?.[1];
      if (copied === undefined) return database.query(text, params);
      const { rows } = await database.query<{ "QUERY PLAN": string }>(`explain ${copied}`);
      plan.push(...rows.map((row) => row["QUERY PLAN"]));
      return { rows: [] };
    };
    await dumpTables({ query } as unknown as Parameters<typeof dumpTables>[0], async () => undefined);
    assert.ok(plan.some((line) => line.includes("Tid Range Scan on events")));
    assert.deepEqual(
      plan.filter((line) => line.includes("Seq Scan") || line.includes("webhook_deliveries_due")),
      [],
    );
  }
  await database.close();
});

/** As after `kill -9` while a dump is written. */
function writeRowsOfKilledDump(dataDir: string): void {
  mkdirSync(dumpFolder(dataDir));
  writeFileSync(join(dumpFolder(dataDir), ".rows.tmp"), "x".repeat(50_000_000));
}

test("a restored database that was not put in place takes it at the next start", async () => {
  const { dataDir, database } = await openNew("interrupted");
  await database.exec(FILL);
  await database.close();
  const { rename } = await import("node:fs/promises");
  await rename(join(dataDir, "database"), join(dataDir, "database.restored"));
  const again = await openDatabase({ databaseUrl: undefined, dataDir });
  assert.deepEqual(await rowsOf(again, "select count(*)::int as n from operations"), [{ n: 3 }]);
  await again.close();
});

test("a dump of a newer program and a damaged one are refused, and the database stays", async () => {
  const { dataDir, database } = await openNew("refused");
  const { path } = await dumpDatabase(dataDir, (write) => database.dump!(write));
  await database.close();
  const dump = await readDump(path);
  const newer = { ...dump, header: { ...dump.header, schema: MIGRATIONS.length + 1 } };
  await assert.rejects(restoreDatabase(dataDir, newer, isHeld), /version \d+, made by mucast/);
  const quoting = { ...dump.header.tables[0]!, name: "operations\" (id) from program 'true" };
  const header = { ...dump.header, taken_at: "2020-01-01T00:00:00.000Z", tables: [quoting] };
  const odd = await writeDump(dataDir, { header, tables: [dump.tables[0]!] });
  await assert.rejects(readDump(odd), /it is no dump/);
  const tables = [Buffer.concat([dump.tables[0]!, Buffer.from("x")]), ...dump.tables.slice(1)];
  const described = dump.header.tables.map((table, n) =>
    n === 0 ? { ...table, bytes: table.bytes + 1 } : table,
  );
  const other = { ...dump.header, taken_at: "2020-01-02T00:00:00.000Z", tables: described };
  const changed = await writeDump(dataDir, { header: other, tables });
  await assert.rejects(readDump(changed), /its rows do not match its digest/);
  truncateSync(path, statSync(path).size - 20);
  await assert.rejects(
    readDump(path),
    (error) => error instanceof MucastError && error.message.includes(path),
  );
  writeFileSync(path, "no dump");
  await assert.rejects(readDump(path), MucastError);
  assert.deepEqual(readdirSync(dataDir).sort(), ["backups", "database"]);
});

test("a service dumps what has changed, keeps a bounded number, and goes on where it cannot", async () => {
  const { dataDir, database } = await openNew("kept");
  const dump: DumpRows = (write) => database.dump!(write);
  const run = async () => startDumps({ dataDir, dump, log: noLog })();
  await run();
  assert.equal(listDumps(dataDir).length, 1);
  await run();
  assert.equal(listDumps(dataDir).length, 1, "nothing has changed");
  await database.exec(FILL);
  await run();
  assert.equal(listDumps(dataDir).length, 2);
  for (let day = 10; day < 10 + MAX_DUMPS; day++) {
    writeFileSync(join(dumpFolder(dataDir), `database-2020-01-${day}T00-00-00-000Z.dump.gz`), "");
  }
  await database.query("delete from api_keys");
  await run();
  const left = listDumps(dataDir);
  assert.deepEqual([left.length, (await readDump(left[0]!)).header.operations], [MAX_DUMPS, 3]);

  rmSync(dumpFolder(dataDir), { recursive: true });
  writeFileSync(dumpFolder(dataDir), "in the way");
  const warned: unknown[] = [];
  await database.query("delete from operations");
  await startDumps({
    dataDir,
    dump,
    log: { ...noLog, warn: ({ err }: { err?: unknown }) => warned.push(err) },
  })();
  assert.ok(warned.length > 0 && warned.every((error) => error instanceof Error));
  await database.close();
});
