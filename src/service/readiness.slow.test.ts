import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { sql } from "kysely";
import pg from "pg";
import { startPostgres } from "../../test/servers/postgres.testing.ts";
import { FolderStore } from "../blob/folder/folder-store.ts";
import type { MucastError } from "../contract/errors/errors.ts";
import { openDatabase } from "./database/database.ts";
import { watchReadiness } from "./readiness.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-ready-"));
after(() => rmSync(folder, { recursive: true, force: true }));

type Parts = Parameters<typeof watchReadiness>[0];

/** A readiness whose clock only `pass` moves. `failing` runs a round of checks, and returns what failed. */
function readinessOf(
  t: TestContext,
  parts: Omit<Parts, "isOneCaller" | "phase">,
  phase: Parts["phase"] = () => "accepting",
) {
  let now = Math.floor(performance.now());
  t.mock.method(performance, "now", () => now);
  const readiness = watchReadiness({ isOneCaller: true, phase, ...parts });
  const failing = async () => {
    await readiness.look();
    const failed = (await readiness.checks()).filter(({ ok }) => !ok);
    // Anyone may read the answer.
    for (const { message } of failed) assert.ok(message && !message.includes(folder), message);
    return failed.map(({ name, message }) => `${name}: ${message}`);
  };
  const pass = (milliseconds: number) => {
    now += milliseconds;
  };
  return { readiness, failing, pass };
}

/** One on a new SQLite database and a folder of blobs. */
async function onFolder(t: TestContext, phase?: Parts["phase"]) {
  const dataDir = mkdtempSync(join(folder, "data-"));
  const database = await openDatabase({ data_dir: dataDir });
  t.after(() => database.close());
  const blobFolder = join(dataDir, "blobs");
  const store = new FolderStore(blobFolder, "http://x");
  const ready = readinessOf(t, { database, store, blobFolder, dataDir }, phase);
  return { dataDir, database, blobFolder, store, ...ready };
}

test("a working service is ready, and one that starts or drains does not accept jobs", async (t) => {
  let phase: "starting" | "accepting" | "draining" = "accepting";
  const { readiness, failing, store } = await onFolder(t, () => phase);
  assert.deepEqual(await failing(), []);
  const names = (await readiness.checks()).map(({ name }) => name);
  assert.deepEqual(names, ["data_folder", "database", "storage", "accepting"]);
  for (const place of ["data", "status"])
    assert.equal(await store.stat(`${place}/readiness.0.json`), undefined);
  phase = "starting";
  assert.deepEqual(await failing(), ["accepting: the service is about to start"]);
  phase = "draining";
  assert.deepEqual(await failing(), ["accepting: the service is about to end"]);
});

test("a folder that was moved away or cannot be written is reported, and submissions are refused", async (t) => {
  const { failing, blobFolder, dataDir, readiness } = await onFolder(t);
  readiness.requireStorage();
  assert.deepEqual(await failing(), []);
  const [data, status] = [join(blobFolder, "data"), join(blobFolder, "status")];
  const database = join(dataDir, "mucast.db");
  for (const [path, isThere, words, what] of [
    [blobFolder, false, /^storage: the folder of the blobs is gone; put it back/, "storage of the blobs"],
    [blobFolder, true, /^storage: the folder of the blobs is not the one that/, "storage of the blobs"],
    // A file in its place stops the write, even for root.
    [data, true, /^storage: /, "storage of the blobs"],
    [status, true, /^storage: /, "storage of the blobs"],
    [database, false, /^data_folder: the database is gone/, "data folder"],
    [dataDir, false, /^data_folder: the data folder is gone/, "data folder"],
  ] as const) {
    renameSync(path, `${path}.away`);
    if (isThere && path === blobFolder) mkdirSync(path);
    else if (isThere) writeFileSync(path, "");
    assert.match((await failing())[0]!, words);
    const isRefusal = ({ code, message, data }: MucastError) =>
      code === "unavailable" && message.startsWith(`the ${what} cannot be used: `) && data.retryAfter === 5;
    assert.throws(() => readiness.requireStorage(), isRefusal);
    rmSync(path, { recursive: true, force: true });
    renameSync(`${path}.away`, path);
    assert.deepEqual(await failing(), []);
  }
});

const server = await startPostgres();
after(() => server.stop());

/** One on a new PostgreSQL database and a storage that services share. */
async function onPostgres(t: TestContext) {
  const url = await server.newDatabase();
  const database = await openDatabase({ data_dir: "", database_url: url, database_connections: 2 });
  t.after(() => database.close());
  const store = new FolderStore(mkdtempSync(join(folder, "shared-")), "http://x");
  const ready = readinessOf(t, { database, store, blobFolder: undefined, dataDir: undefined });
  return { url, database, store, ...ready };
}

test("a PostgreSQL that is read-only is reported after half a minute", async (t) => {
  const { url, failing, pass } = await onPostgres(t);
  const operator = new pg.Client({ connectionString: url });
  await operator.connect();
  t.after(() => operator.end());
  assert.deepEqual(await failing(), []);
  const name = new URL(url).pathname.slice(1);
  await operator.query(`alter database ${name} set default_transaction_read_only = on`);
  await operator.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'mucast'",
  );
  pass(30_000);
  // The pool may hand out a connection that the server has ended once more.
  while (!(await failing()).includes("database: the database is read-only (25006)"));
  await operator.query(`alter database ${name} reset default_transaction_read_only`);
  assert.deepEqual(await failing(), []);
});

test("a database and a storage that services share may be away for seconds; submissions are refused at once", async (t) => {
  const { database, store, readiness, failing, pass } = await onPostgres(t);
  assert.deepEqual(await failing(), []);
  await server.down();
  assert.deepEqual(await failing(), []);
  await assert.rejects(sql`select 1`.execute(database.db), ({ code }: MucastError) => code === "unavailable");
  pass(29_999);
  assert.deepEqual(await failing(), []);
  pass(1);
  assert.match((await failing()).join(), /^database: [^,]+$/);
  const fresh = readinessOf(t, { database, store, blobFolder: undefined, dataDir: undefined });
  assert.match((await fresh.failing()).join(), /^database: /, "it has never answered");
  await server.up();
  // The pool may hand out a connection that the server has ended.
  while ((await failing()).length > 0);
  t.mock.method(store, "put", () => Promise.reject(new Error("away")));
  assert.deepEqual(await failing(), []);
  assert.throws(() => readiness.requireStorage(), { code: "unavailable" });
});
