import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { sql } from "kysely";
import pg from "pg";
import { startPostgres } from "../../test/servers/postgres.testing.ts";
import { FolderStore } from "../blob/folder/folder-store.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { type Database, openDatabase } from "./database/database.ts";
import { withMembers } from "./database/databases.testing.ts";
import { Readiness } from "./readiness.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-ready-"));

after(() => rmSync(folder, { recursive: true, force: true }));

type ServicePhase = "starting" | "accepting" | "draining";

/**
 * What a service needs. `ask` and `failing` run a round of checks first; `written` counts the writes that rounds have started.
 * @param writes a promise that the writes of blobs wait for.
 */
async function opened(
  t: TestContext,
  name: string,
  { writes, timeoutMilliseconds }: { writes?: Promise<void>; timeoutMilliseconds?: number } = {},
) {
  const dataDir = join(folder, name);
  const embedded = await openDatabase({ data_dir: dataDir });
  t.after(() => embedded.close());
  const blobFolder = join(dataDir, "blobs", name);
  const written = { blobs: 0, statements: 0 };
  const write: Database["write"] = (body) => {
    written.statements++;
    return embedded.write(body);
  };
  const database = withMembers(embedded, { write });
  let phase: ServicePhase = "accepting";
  const store = new FolderStore(blobFolder, "http://x");
  const put = store.put.bind(store);
  store.put = async (...given) => {
    written.blobs++;
    await writes;
    return put(...given);
  };
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const readiness = new Readiness({
    ...{ database, store, blobFolder, dataDir },
    isOneCaller: true,
    phase: () => phase,
    timeoutMilliseconds,
  });
  const ask = async () => {
    await readiness.look();
    return readiness.checks();
  };
  const failing = async () => {
    const failed = (await ask()).filter(({ ok }) => !ok);
    // Anyone may read the answer.
    for (const { message } of failed) assert.ok(message && !message.includes(folder), message);
    return failed.map((check) => check.name);
  };
  return {
    dataDir,
    blobFolder,
    readiness,
    written,
    ask,
    failing,
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
    enter: (next: ServicePhase) => {
      phase = next;
    },
  };
}

test("a working service is ready, and one that starts or drains does not accept jobs", async (t) => {
  const { ask, failing, enter, blobFolder } = await opened(t, "works");
  const checks = await ask();
  assert.deepEqual(
    checks.map(({ name, ok }) => [name, ok]),
    [
      ["data_folder", true],
      ["database", true],
      ["storage", true],
      ["accepting", true],
    ],
  );
  for (const place of ["data", "status"])
    assert.equal(await new FolderStore(blobFolder, "").stat(`${place}/readiness.0.json`), undefined);
  for (const phase of ["starting", "draining"] as const) {
    enter(phase);
    assert.deepEqual(await failing(), ["accepting"]);
  }
});

test("only the timer runs the checks: probes read the last round's result", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { readiness, written } = await opened(t, "probed");
  readiness.start();
  const oks = async () => (await readiness.checks()).map(({ name, ok }) => [name, ok]);
  const ready = [
    ["data_folder", true],
    ["database", true],
    ["storage", true],
    ["accepting", true],
  ];
  assert.deepEqual(await oks(), ready);
  const first = { ...written };
  for (let probe = 0; probe < 20; probe++) assert.deepEqual(await oks(), ready);
  assert.deepEqual(written, first);
  t.mock.timers.tick(5_000);
  await readiness.look();
  assert.deepEqual(written, { blobs: 2 * first.blobs, statements: 2 * first.statements });
  await readiness.close();
});

test("an old result, as from before the process was stopped, makes no service ready", async (t) => {
  const { readiness, failing, pass } = await opened(t, "stopped");
  assert.deepEqual(await failing(), []);
  pass(31_000);
  const found = await readiness.checks();
  assert.deepEqual(
    found.map(({ name, message }) => [name, message]),
    [
      ["data_folder", "it was last checked 31 s ago"],
      ["database", "it was last checked 31 s ago"],
      ["storage", "it was last checked 31 s ago"],
      ["accepting", undefined],
    ],
  );
  assert.deepEqual(await failing(), []);
});

test("a check that does not return fails, and does not start again meanwhile", async (t) => {
  const held = Promise.withResolvers<void>();
  const { failing, written } = await opened(t, "hung", { writes: held.promise, timeoutMilliseconds: 500 });
  assert.ok((await failing()).includes("storage"));
  const begun = written.blobs;
  assert.ok((await failing()).includes("storage"));
  assert.equal(written.blobs, begun);
  held.resolve();
  // On a busy machine another check may be late as well.
  while ((await failing()).length > 0);
});

test("its close waits for a check's writes", async (t) => {
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const { ask, readiness } = await opened(t, "closed", { writes: held.promise });
  const checked = ask();
  const closed = readiness.close().then(() => order.push("closed"));
  setImmediate(() => {
    order.push("written");
    held.resolve();
  });
  await closed;
  assert.deepEqual(order, ["written", "closed"]);
  assert.ok((await checked).every(({ ok }) => ok));
});

test("a blob folder that was moved away is reported, even if another one took its name", async (t) => {
  const { failing, blobFolder, readiness } = await opened(t, "moved");
  readiness.requireStorage();
  assert.deepEqual(await failing(), []);
  readiness.requireStorage();
  renameSync(blobFolder, `${blobFolder}.away`);
  assert.deepEqual(await failing(), ["storage"]);
  assert.throws(
    () => readiness.requireStorage(),
    ({ code, message, data }: MucastError) =>
      code === "unavailable" &&
      message.startsWith("the storage of the blobs cannot be used: the folder of the blobs is gone") &&
      data.retryAfter === 5,
  );
  mkdirSync(blobFolder);
  assert.deepEqual(await failing(), ["storage"]);
  rmSync(blobFolder, { recursive: true });
  renameSync(`${blobFolder}.away`, blobFolder);
  assert.deepEqual(await failing(), []);
});

test("a folder of inputs and outputs that cannot be written is reported", async (t) => {
  const { failing, blobFolder } = await opened(t, "inputs");
  assert.deepEqual(await failing(), []);
  rmSync(join(blobFolder, "data"), { recursive: true, force: true });
  // A file in its place stops the write, even for root.
  writeFileSync(join(blobFolder, "data"), "");
  assert.deepEqual(await failing(), ["storage"]);
  rmSync(join(blobFolder, "data"));
  assert.deepEqual(await failing(), []);
});

test("a file of the database or a data folder that was moved away is reported, and submissions are refused", async (t) => {
  const { failing, dataDir, readiness } = await opened(t, "removed");
  assert.deepEqual(await failing(), []);
  const file = join(dataDir, "mucast.db");
  renameSync(file, `${file}.away`);
  assert.deepEqual(await failing(), ["data_folder"]);
  assert.throws(() => readiness.requireStorage(), /the data folder cannot be used: the database is gone/);
  renameSync(`${file}.away`, file);
  assert.deepEqual(await failing(), []);
  renameSync(dataDir, `${dataDir}.away`);
  assert.ok((await failing()).includes("data_folder"));
  renameSync(`${dataDir}.away`, dataDir);
  assert.deepEqual(await failing(), []);
});

/** A readiness on a real PostgreSQL. `failing` runs a round of checks; `pass` sets the clock forward, by which a shared part may fail. */
async function onPostgres(t: TestContext) {
  const server = await startPostgres();
  const url = await server.newDatabase();
  const database = await openDatabase({ data_dir: "", database_url: url, database_connections: 2 });
  const operators: pg.Client[] = [];
  t.after(async () => {
    for (const each of operators) await each.end();
    await database.close();
    await server.stop();
  });
  const store = new FolderStore(join(folder, "postgres"), "http://x");
  let passed = 0;
  const now = Math.floor(performance.now());
  t.mock.method(performance, "now", () => now + passed);
  const readiness = new Readiness({
    database,
    store,
    blobFolder: undefined,
    isOneCaller: true,
    dataDir: undefined,
    phase: () => "accepting",
  });
  const failing = async () => {
    await readiness.look();
    return (await readiness.checks()).flatMap(({ name, ok, message }) => (ok ? [] : `${name}: ${message}`));
  };
  const pass = (milliseconds: number) => {
    passed += milliseconds;
  };
  const newOperator = async () => {
    const operator = new pg.Client({ connectionString: url });
    await operator.connect();
    operators.push(operator);
    return operator;
  };
  return { server, url, database, store, readiness, failing, pass, newOperator };
}

test("a PostgreSQL that is read-only is reported after half a minute", async (t) => {
  const { url, failing, pass, newOperator } = await onPostgres(t);
  const operator = await newOperator();
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
  const { server, database, store, readiness, failing, pass } = await onPostgres(t);
  assert.deepEqual(await failing(), []);
  await server.down();
  assert.deepEqual(await failing(), []);
  await assert.rejects(sql`select 1`.execute(database.db), ({ code }: MucastError) => code === "unavailable");
  pass(29_999);
  assert.deepEqual(await failing(), []);
  pass(1);
  assert.match((await failing()).join(), /^database: [^,]+$/);
  await server.up();
  // The pool may hand out a connection that the server has ended.
  while ((await failing()).length > 0);
  const put = t.mock.method(store, "put", () => Promise.reject(new Error("away")));
  assert.deepEqual(await failing(), []);
  assert.throws(
    () => readiness.requireStorage(),
    ({ code, data }: MucastError) => code === "unavailable" && data.retryAfter === 5,
  );
  pass(30_000);
  assert.deepEqual(await failing(), ["storage: it does not answer"]);
  put.mock.restore();
  assert.deepEqual(await failing(), []);
  readiness.requireStorage();
});

test("a storage that cannot be written is reported without its URL", async (t) => {
  const { store, failing } = await onPostgres(t);
  t.mock.method(store, "put", (key: string) =>
    Promise.reject(new MucastError("output_failed", `${store.url}/${key} could not be written: away`)),
  );
  assert.deepEqual(await failing(), ["storage: data/readiness.0.json could not be written: away"]);
});

test("a shared database that has never answered makes a new service not ready at once", async (t) => {
  const { server, failing } = await onPostgres(t);
  await server.down();
  assert.match((await failing()).join(), /^database: /);
});
