import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { copyNewDatabase } from "../../test/servers/database-template.testing.ts";
import { FolderStore } from "../blob/folder/folder-store.ts";
import { openDatabase } from "./database/database.ts";
import { cachedFor, openReadiness, type ServicePhase } from "./readiness.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-ready-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("all calls get the same answer while it is fresh, and the disk is asked once", async () => {
  let now = 0;
  let count = 0;
  const ask = cachedFor(
    3_000,
    async () => ++count,
    () => now,
  );
  assert.deepEqual(await Promise.all([ask(), ask(), ask()]), [1, 1, 1]);
  now = 2_999;
  assert.equal(await ask(), 1);
  now = 3_000;
  assert.equal(await ask(), 2);
});

/** What a service needs, in a folder. Each call checks anew. @param writes what the writes of blobs wait for. */
async function opened(
  t: { after: (end: () => Promise<void>) => void },
  name: string,
  writes?: Promise<void>,
) {
  const dataDir = join(folder, name);
  const blobFolder = join(dataDir, "blobs");
  await copyNewDatabase(dataDir);
  const database = await openDatabase({ databaseUrl: undefined, dataDir });
  t.after(() => database.close());
  let phase: ServicePhase = "accepting";
  const store = new FolderStore(blobFolder, "http://x");
  if (writes) {
    const put = store.put.bind(store);
    store.put = async (...given) => {
      await writes;
      return put(...given);
    };
  }
  const { check: ask, close } = openReadiness({
    database,
    store,
    blobFolder,
    isOneCaller: true,
    dataDir,
    phase: () => phase,
  });
  const failing = async () => {
    const failed = (await ask()).filter(({ ok }) => !ok);
    // Anyone may read the answer.
    for (const { message } of failed) assert.ok(message && !message.includes(folder), message);
    return failed.map((check) => check.name);
  };
  return {
    dataDir,
    blobFolder,
    ask,
    close,
    failing,
    enter: (next: ServicePhase) => {
      phase = next;
    },
  };
}

/** Makes every answer stale at once. */
function pass(t: { mock: { method: (on: object, name: "now", as: () => number) => void } }): void {
  let later = performance.now();
  t.mock.method(performance, "now", () => (later += 10_000));
}

test("a working service is ready, and one that starts or drains is not accepting", async (t) => {
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

test("its close waits for what a check writes", async (t) => {
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const { ask, close } = await opened(t, "closed", held.promise);
  const checked = ask();
  const closed = close().then(() => order.push("closed"));
  setImmediate(() => {
    order.push("written");
    held.resolve();
  });
  await closed;
  assert.deepEqual(order, ["written", "closed"]);
  assert.ok((await checked).every(({ ok }) => ok));
});

test("a blob folder that was moved away is reported, also where another one took its name", async (t) => {
  const { failing, blobFolder } = await opened(t, "moved");
  assert.deepEqual(await failing(), []);
  pass(t);
  renameSync(blobFolder, `${blobFolder}.away`);
  assert.deepEqual(await failing(), ["storage"]);
  mkdirSync(blobFolder);
  assert.deepEqual(await failing(), ["storage"]);
  rmSync(blobFolder, { recursive: true });
  renameSync(`${blobFolder}.away`, blobFolder);
  assert.deepEqual(await failing(), []);
});

test("a folder of inputs and outputs that cannot be written is reported", async (t) => {
  const { failing, blobFolder } = await opened(t, "inputs");
  assert.deepEqual(await failing(), []);
  pass(t);
  rmSync(join(blobFolder, "data"), { recursive: true, force: true });
  // A file in its place stops the write, even for root.
  writeFileSync(join(blobFolder, "data"), "");
  assert.deepEqual(await failing(), ["storage"]);
  rmSync(join(blobFolder, "data"));
  assert.deepEqual(await failing(), []);
});

test("removed files of the database are reported, and so is a data folder that cannot be written", async (t) => {
  const { failing, dataDir } = await opened(t, "removed");
  assert.deepEqual(await failing(), []);
  pass(t);
  const control = join(dataDir, "database/global/pg_control");
  renameSync(control, `${control}.away`);
  assert.deepEqual(await failing(), ["database"]);
  renameSync(`${control}.away`, control);
  // A folder of the same name stops the write, even for root.
  const inTheWay = join(dataDir, `readiness.${process.pid}`);
  mkdirSync(join(inTheWay, "full"), { recursive: true });
  assert.deepEqual(await failing(), ["data_folder"]);
  rmSync(inTheWay, { recursive: true });
  // So does a file in place of the folder in which the database makes files.
  const temporary = join(dataDir, "database/base/pgsql_tmp");
  renameSync(temporary, `${temporary}.away`);
  writeFileSync(temporary, "");
  assert.deepEqual(await failing(), ["database"]);
  rmSync(temporary);
  renameSync(`${temporary}.away`, temporary);
  assert.deepEqual(await failing(), []);
  renameSync(dataDir, `${dataDir}.away`);
  assert.deepEqual(await failing(), ["data_folder", "database", "storage"]);
  renameSync(`${dataDir}.away`, dataDir);
  assert.deepEqual(await failing(), []);
});
