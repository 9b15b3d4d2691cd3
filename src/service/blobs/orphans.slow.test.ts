import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import { blobFixture, newCaller } from "./blob-fixture.testing.ts";
import { findOrphans, type Orphan, removeOrphan } from "./orphans.ts";
import { spaceOf } from "./storage.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-orphans-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const FEATURES = "feature_engine_1.json";

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { record } = fixture;

  async function collect(list: Parameters<typeof findOrphans>[1], db = fixture.database.db) {
    const orphans: Orphan[] = [];
    for await (const orphan of findOrphans(db, list)) orphans.push(orphan);
    return orphans;
  }

  /** A caller with a recorded blob, the ids of an operation that waits and of one that has failed. */
  async function callerWithJobs() {
    const caller = newCaller();
    await record(caller, FEATURES);
    const { id: active } = await fixture.submit(caller, FEATURES);
    const { id: ended } = await fixture.submit(caller, FEATURES);
    await end(ended);
    return { caller, space: spaceOf(caller.subject), active, ended };
  }

  const end = (id: string) =>
    fixture.database.write((db) =>
      db.updateTable("operations").set({ status: "Failed" }).where("id", "=", id).execute(),
    );

  test("blobs without a record are orphans after an hour, but not the output of an active operation", async () => {
    const blobs = mkdtempSync(join(folder, "blobs-"));
    const store = new FolderStore(blobs, "http://x");
    const { space, active, ended } = await callerWithJobs();
    const lost = ["data/feature_engine_lost.json", `data/ml_engine_${ended}.json`, "status/unknown.1.json"];
    const named = [
      `data/${FEATURES}`,
      `data/ml_engine_${active}.json`,
      `status/${active}.1.json`,
      `status/${ended}.2.json`,
      "status/readiness.0.json",
    ];
    for (const key of [...lost, ...named]) await store.within(space).put(key, "12345");
    for (const key of ["data/operators.json", "status/unknown.1.json"]) await store.put(key, "1");
    // A link in the place of a space, to a foreign folder.
    await new FolderStore(join(folder, "elsewhere"), "http://x").put("data/other.json", "1");
    symlinkSync(join(folder, "elsewhere"), join(blobs, "key-0000000000000000"));
    const orphans = await collect(store);
    assert.deepEqual(
      orphans.map(({ space, key, size, isAtRoot }) => [space, key, size, isAtRoot]).toSorted(),
      [
        ["", "data/operators.json", 1, true],
        ["", "status/unknown.1.json", 1, false],
        ...lost.map((key) => [space, key, 5, false]),
      ].toSorted(),
    );
    for (const { oldAt, modifiedAt } of orphans) assert.equal(+oldAt - +modifiedAt, 3_600_000);
  });

  test("an orphan is removed, unless it was uploaded again since it was listed", async () => {
    const store = new FolderStore(mkdtempSync(join(folder, "again-")), "http://x");
    const caller = newCaller();
    const own = store.within(spaceOf(caller.subject));
    const [again, lost] = ["feature_engine_again.json", "feature_engine_lost.json"];
    for (const name of [again, lost]) await own.put(`data/${name}`, "old");
    const orphans = await collect(store);
    await record(caller, again);
    for (const orphan of orphans)
      assert.equal(await removeOrphan(fixture.database.db, store, orphan), orphan.key === `data/${lost}`);
    assert.notEqual(await own.stat(`data/${again}`), undefined);
    assert.equal(await own.stat(`data/${lost}`), undefined);
  });
});
