import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { sql } from "kysely";
import { WHOLE_MATRIX } from "../../../test/whole-matrix.testing.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import { newCaller, TestedQueue } from "../queue/queue.testing.ts";
import { openDatabase } from "./database.ts";
import { newRow } from "./databases.testing.ts";
import { backUpSqlite, sqliteFile } from "./sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-sqlite-"));
after(() => rmSync(folder, { recursive: true, force: true }));

async function open(t: TestContext, name: string) {
  const dataDir = join(folder, name);
  const database = await openDatabase({ data_dir: dataDir });
  t.after(() => database.close());
  return { dataDir, database };
}

test("only its owner may read the database, and each commit is on the disk before it returns", async (t) => {
  const { dataDir, database } = await open(t, "owned");
  assert.equal(statSync(sqliteFile(dataDir)).mode & 0o777, 0o600);
  const pragma = async (name: string) => {
    const { rows } = await database.write((db) =>
      sql.raw<Record<string, unknown>>(`pragma ${name}`).execute(db),
    );
    return Object.values(rows[0]!)[0];
  };
  // 2 is FULL: SQLite syncs the log at each commit.
  assert.deepEqual(
    [await pragma("journal_mode"), await pragma("synchronous"), await pragma("foreign_keys")],
    ["wal", 2, 1],
  );
});

test("after SQLite has rolled back by itself, the rest of a transaction stores nothing", async (t) => {
  const { database } = await open(t, "rolled-back");
  const written = database.write(async (db) => {
    // As SQLite does if the disk is full.
    await sql`rollback`.execute(db);
    await db.insertInto("operations").values(newRow("op", "me")).execute();
  });
  await assert.rejects(written, { code: "unavailable" });
  assert.deepEqual(await database.db.selectFrom("operations").select("id").execute(), []);
});

/** Commits as often as it is told, in a process of its own, and says when it begins and ends. */
const COMMITS = `
  import { DatabaseSync } from "node:sqlite";
  const [file, times] = process.argv.slice(1);
  const database = new DatabaseSync(file, { timeout: 10_000 });
  database.exec("pragma synchronous = full");
  const insert = database.prepare("insert into blob_usage (caller, blobs) values ('other', 1) on conflict do update set blobs = blobs + 1");
  process.stdout.write("begun");
  for (let n = 0; n < Number(times); n++) insert.run();
`;

const [SUBMISSIONS, COMMITTED] = WHOLE_MATRIX ? [500, 1_000] : [200, 400];

test(`${SUBMISSIONS} submissions succeed while another process commits ${COMMITTED} times`, {
  timeout: 120_000,
}, async (t) => {
  const { dataDir, database } = await open(t, "shared");
  const queue = await new TestedQueue(database).start({ dispatch: false });
  t.after(() => queue.close());
  const other = spawn(
    process.execPath,
    ["--input-type=module", "-e", COMMITS, sqliteFile(dataDir), String(COMMITTED)],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const exited = once(other, "exit");
  await once(other.stdout, "data");
  const caller = newCaller();
  const submitted = await Promise.all(Array.from({ length: SUBMISSIONS }, () => queue.submit(caller)));
  assert.equal(new Set(submitted.map(({ id }) => id)).size, SUBMISSIONS);
  assert.deepEqual(await exited, [0, null]);
  const usage = await database.db
    .selectFrom("blob_usage")
    .select("blobs")
    .where("caller", "=", "other")
    .executeTakeFirst();
  assert.equal(usage?.blobs, COMMITTED);
});

test("a backup while a service writes is whole, and replaces no file", async (t) => {
  const { dataDir, database } = await open(t, "backed-up");
  const queue = await new TestedQueue(database).start({ dispatch: false });
  t.after(() => queue.close());
  const { id } = await queue.submit(newCaller());
  const into = join(folder, "backups");
  mkdirSync(into);
  const file = join(into, "mucast.db");
  const [, ...later] = await Promise.all([
    backUpSqlite(dataDir, file),
    ...[1, 2, 3].map(() => queue.submit(newCaller())),
  ]);
  assert.equal(later.length, 3);
  await assert.rejects(backUpSqlite(dataDir, file), { code: "invalid_request" });
  assert.deepEqual([readdirSync(into), statSync(file).mode & 0o777], [["mucast.db"], 0o600]);
  const restored = join(folder, "restored");
  mkdirSync(restored);
  writeFileSync(sqliteFile(restored), readFileSync(file));
  const { database: copy } = await open(t, "restored");
  const row = await copy.db.selectFrom("operations").select("status").where("id", "=", id).executeTakeFirst();
  assert.equal(row?.status, "NotStarted");
  await assert.rejects(backUpSqlite(join(folder, "nothing"), join(into, "none.db")), {
    code: "invalid_request",
  });
});

test("a data folder of mucast 0.2 is named in one error, and nothing is created", async () => {
  const dataDir = join(folder, "earlier");
  mkdirSync(join(dataDir, "database"), { recursive: true });
  writeFileSync(join(dataDir, "database/PG_VERSION"), "18");
  await assert.rejects(openDatabase({ data_dir: dataDir }), ({ code, message }: MucastError) => {
    assert.match(
      message,
      /database is the database of mucast 0\.2\.0 or earlier, which this version cannot read/,
    );
    return code === "unavailable";
  });
  assert.ok(!existsSync(sqliteFile(dataDir)));
});

test("a file that is no database, or that may not be read, is refused with its path", async () => {
  const dataDir = join(folder, "broken");
  mkdirSync(dataDir);
  writeFileSync(sqliteFile(dataDir), "x".repeat(10_000));
  const refused = ({ code, message }: MucastError) =>
    code === "unavailable" && message.includes(sqliteFile(dataDir));
  await assert.rejects(openDatabase({ data_dir: dataDir }), refused);
  chmodSync(sqliteFile(dataDir), 0o600);
});
