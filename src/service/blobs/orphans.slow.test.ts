import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import type { ListedBlob } from "../../blob/store.ts";
import type { Caller } from "../auth/caller.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import { recordBlob } from "../store/blobs.ts";
import { blobFixture, newCaller } from "./blob-fixture.testing.ts";
import { spaceOf } from "./blobs.ts";
import { findOrphans, namesAnyBlob, type Orphan, removeOrphan } from "./orphans.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-orphans-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const HOUR = 3_600_000;

async function collect(found: AsyncIterable<Orphan>): Promise<Orphan[]> {
  const all: Orphan[] = [];
  for await (const orphan of found) all.push(orphan);
  return all;
}

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);

  /** @returns the id of an operation that waits to start. */
  async function submitted(caller: Caller, feature: string): Promise<string> {
    const inserted = await fixture.submit(caller, feature);
    return inserted.kind === "created" ? inserted.row.id : assert.fail(inserted.kind);
  }

  test("blobs without a record are orphans, but not the output of an active operation, nor a new blob", async () => {
    const { database } = fixture;
    const blobs = mkdtempSync(join(folder, "blobs-"));
    const store = new FolderStore(blobs, "http://x");
    const caller = newCaller();
    const space = spaceOf(caller.subject);
    const own = store.within(space);
    const record = { caller: caller.subject, space, name: "feature_engine_kept.json", bytes: 5 };
    await database.write((db) => recordBlob(database, db, record));
    const [active, ended] = [await submitted(caller, record.name), await submitted(caller, record.name)];
    await database.write((db) =>
      db.updateTable("operations").set({ status: "Failed" }).where("id", "=", ended).execute(),
    );
    for (const key of [
      "data/feature_engine_kept.json",
      "data/feature_engine_lost.json",
      `data/ml_engine_${active}.json`,
      `data/ml_engine_${ended}.json`,
      `status/${active}.1.json`,
      `status/${ended}.2.json`,
      "status/unknown.1.json",
      "status/readiness.0.json",
    ])
      await own.put(key, "12345");
    await store.put("data/operators.json", "1");
    await store.put("status/unknown.1.json", "1");
    // A link in the place of a space, to a foreign folder.
    await new FolderStore(join(folder, "elsewhere"), "http://x").put("data/other.json", "1");
    symlinkSync(join(folder, "elsewhere"), join(blobs, "key-0000000000000000"));

    const found = async (now: number, onYoung: (blob: ListedBlob) => void = () => assert.fail()) => {
      const all = await collect(findOrphans(database.db, store, { now, onYoung }));
      return all.map(({ space, key, size, isAtRoot }) => [space, key, size, isAtRoot]).toSorted();
    };
    assert.deepEqual(
      await found(Date.now() + 2 * HOUR),
      [
        ["", "data/operators.json", 1, true],
        ["", "status/unknown.1.json", 1, false],
        [space, "data/feature_engine_lost.json", 5, false],
        [space, `data/ml_engine_${ended}.json`, 5, false],
        [space, "status/unknown.1.json", 5, false],
      ].toSorted(),
    );
    const young: string[] = [];
    const none = await found(Date.now(), ({ space, key }) => young.push(`${space}/${key}`));
    assert.deepEqual(none, [], "their upload may be under way");
    assert.deepEqual(
      young.toSorted(),
      [
        "/data/operators.json",
        "/status/unknown.1.json",
        `${space}/data/feature_engine_lost.json`,
        `${space}/data/ml_engine_${ended}.json`,
        `${space}/status/unknown.1.json`,
      ].toSorted(),
    );
  });

  test("an output that an operation records between two statements is no orphan", async () => {
    const { database } = fixture;
    const caller = newCaller();
    const space = spaceOf(caller.subject);
    const feature = { caller: caller.subject, space, name: "feature_engine_1.json", bytes: 5 };
    await database.write((db) => recordBlob(database, db, feature));
    for (const statementsBefore of [0, 1, 2]) {
      const id = await submitted(caller, feature.name);
      const name = `ml_engine_${id}.json`;
      async function* list() {
        yield { space, key: `data/${name}`, size: 1, modifiedAt: new Date(0) };
      }
      let left = statementsBefore;
      const end = async () => {
        await database.write(async (db) => {
          await recordBlob(database, db, { caller: caller.subject, space, name, bytes: 1 });
          await db.updateTable("operations").set({ status: "Failed" }).where("id", "=", id).execute();
        });
      };
      if (left === 0) await end();
      const db = database.db.withPlugin({
        transformQuery: ({ node }) => node,
        transformResult: async ({ result }) => {
          if (--left === 0) await end();
          return result;
        },
      });
      assert.deepEqual(await collect(findOrphans(db, { list })), [], `${statementsBefore} before`);
    }
  });

  test("a blob that was uploaded again since it was listed is not removed", async () => {
    const { database } = fixture;
    const store = new FolderStore(mkdtempSync(join(folder, "again-")), "http://x");
    const caller = newCaller();
    const space = spaceOf(caller.subject);
    const [again, lost] = ["feature_engine_again.json", "feature_engine_lost.json"];
    for (const name of [again, lost]) await store.within(space).put(`data/${name}`, "old");
    const orphans = await collect(findOrphans(database.db, store, { now: Date.now() + 2 * HOUR }));
    assert.equal(orphans.length, 2);
    await store.within(space).put(`data/${again}`, "new");
    const record = { caller: caller.subject, space, name: again, bytes: 3 };
    await database.write((db) => recordBlob(database, db, record));
    const removed = new Map<string, boolean>();
    for (const orphan of orphans) removed.set(orphan.key, await removeOrphan(database.db, store, orphan));
    assert.deepEqual([removed.get(`data/${again}`), removed.get(`data/${lost}`)], [false, true]);
    assert.notEqual(await store.within(space).stat(`data/${again}`), undefined);
    assert.equal(await store.within(space).stat(`data/${lost}`), undefined);
  });

  test("a database that names no blob of a storage is distinguished from one that names a single blob", async () => {
    const { database } = fixture;
    const caller = newCaller();
    const space = spaceOf(caller.subject);
    async function* list() {
      for (let i = 0; i < 600; i++)
        yield { space, key: `data/feature_engine_other${i}.json`, size: 1, modifiedAt: new Date() };
      yield { space: "", key: "status/readiness.0.json", size: 1, modifiedAt: new Date() };
      yield { space, key: "status/unknown.1.json", size: 1, modifiedAt: new Date() };
    }
    assert.equal(await namesAnyBlob(database.db, { list }), false);
    const record = { caller: caller.subject, space, name: "feature_engine_other550.json", bytes: 1 };
    await database.write((db) => recordBlob(database, db, record));
    assert.equal(await namesAnyBlob(database.db, { list }), true);
  });

  test("many blobs are compared in batches", async () => {
    const { database } = fixture;
    async function* list() {
      for (let i = 0; i < 1_201; i++)
        yield { space: "", key: `data/feature_engine_many${i}.json`, size: 1, modifiedAt: new Date(0) };
    }
    for (const i of [0, 500, 1_200]) {
      const record = { caller: `many:${i}`, space: "", name: `feature_engine_many${i}.json`, bytes: 1 };
      await database.write((db) => recordBlob(database, db, record));
    }
    const all = await collect(findOrphans(database.db, { list }));
    assert.equal(all.length, 1_198);
    assert.ok(all.every(({ isAtRoot }) => isAtRoot));
  });
});
