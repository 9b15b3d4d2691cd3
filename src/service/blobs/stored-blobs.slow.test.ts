import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { Caller } from "../auth/caller.ts";
import { onEachDatabase, withMembers } from "../database/databases.testing.ts";
import { recordBlob } from "../store/blobs.ts";
import { blobFixture, isCode, NAME, newCaller, QUOTA } from "./blob-fixture.testing.ts";
import { spaceOf } from "./blobs.ts";

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, put, used, submit } = fixture;

  test("a blob lies in its caller's space, and no other caller finds it", async () => {
    const [blobs, ann, ben] = [service(), newCaller(), newCaller()];
    await put(blobs, ann, NAME, 3);
    const { store: own, key } = (await blobs.find(ann, NAME))!;
    assert.equal((await own.stat(key))?.size, 3);
    assert.equal((await fixture.store.within(spaceOf(ann.subject)).stat(`data/${NAME}`))?.size, 3);
    assert.equal(await blobs.find(ben, NAME), undefined);
    assert.equal(await blobs.remove(ben, NAME), false);
    assert.equal(await fixture.store.stat(`data/${NAME}`), undefined);
  });

  test("a blob from before callers had spaces is found, replaced and removed where it lies", async () => {
    const [blobs, ann] = [service(), newCaller()];
    const name = `feature_engine_${randomUUID()}.json`;
    await fixture.store.put(`data/${name}`, "old");
    const record = { caller: ann.subject, name, space: "", bytes: null };
    await fixture.database.write((db) => recordBlob(fixture.database, db, record));
    const found = (await blobs.find(ann, name))!;
    assert.equal((await found.store.stat(found.key))?.size, 3);
    const local: Caller = { subject: "local", scopes: new Set(["write"]) };
    for (const auth of ["keys", "none"] as const) {
      const other = service({ settings: { auth } });
      assert.equal(await other.uploadAddress(local, name), undefined, "another caller has it");
      assert.equal(await other.beginUpload(local, name, 1), undefined);
      assert.equal(await other.find(local, name), undefined);
      assert.equal(await other.remove(local, name), false);
    }
    await put(blobs, ann, name, 5);
    assert.equal((await fixture.store.stat(`data/${name}`))?.size, 5);
    assert.equal(await blobs.remove(ann, name), true);
    assert.equal(await fixture.store.stat(`data/${name}`), undefined);
    assert.deepEqual(await used(ann), { bytes: 0, blobs: 0 });
  });

  for (const auth of ["none", "keys"] as const)
    test(`two concurrent uploads of the same new name both find room, with auth ${auth}`, async () => {
      const local: Caller = { subject: "local", scopes: new Set(["write"]) };
      const { database } = fixture;
      const first = service({ settings: { auth } });
      // After each of the statements that the second one asks.
      for (let after = 0; after < 2; after++) {
        const name = `feature_engine_${randomUUID()}.json`;
        let statements = 0;
        const second = service({
          settings: { auth },
          database: withMembers(database, {
            db: database.db.withPlugin({
              transformQuery: ({ node }) => node,
              transformResult: async ({ result }) => {
                if (statements++ === after) await put(first, local, name, 3);
                return result;
              },
            }),
          }),
        });
        assert.ok(await second.uploadAddress(local, name), `after statement ${after}`);
        assert.equal(await first.remove(local, name), true);
      }
    });

  test("the operator's own files are read and removed only where there is one caller", async () => {
    const name = `feature_engine_${randomUUID()}.json`;
    const local: Caller = { subject: "local", scopes: new Set(["write"]) };
    await fixture.store.put(`data/${name}`, "operator");
    assert.equal(await service().find(local, name), undefined);
    assert.equal(await service().uploadAddress(local, name), undefined);
    assert.equal(await service().remove(local, name), false);
    const open = service({ settings: { auth: "none" } });
    assert.ok(await open.find(local, name));
    assert.ok(await open.uploadAddress(local, name));
    assert.equal(await open.remove(local, name), true);
    assert.equal(await open.remove(local, name), false);
  });

  test("uploads stay within the quota one after the other, and concurrent ones of a service too", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const begin = (id: number, bytes?: number) =>
      blobs.beginUpload(caller, `feature_engine_${id}.json`, bytes);
    const first = (await begin(1, 60))!;
    await assert.rejects(begin(2, 60), isCode("quota_exceeded"));
    const second = (await begin(2))!;
    second.checkRoom(40);
    assert.throws(() => second.checkRoom(41), isCode("quota_exceeded"));
    await first.store.put(first.key, "x".repeat(60));
    await first.finish(60);
    await first.close();
    assert.throws(() => second.checkRoom(41), isCode("quota_exceeded"), "the stored one still counts");
    await second.close();
    await put(blobs, caller, "feature_engine_2.json", 40);
    assert.deepEqual(await used(caller), { bytes: 100, blobs: 2 });
    await assert.rejects(put(blobs, caller, "data_extractor_1.json", 1), isCode("quota_exceeded"));
    await put(blobs, newCaller(), "data_extractor_1.json", 100);
    assert.equal(await blobs.remove(caller, "feature_engine_1.json"), true);
    await put(blobs, caller, "data_extractor_1.json", 40);
  });

  test("a blob counts beside its new version during the upload, and once afterwards", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await put(blobs, caller, NAME, 60);
    await assert.rejects(put(blobs, caller, NAME, 50), isCode("quota_exceeded"));
    await put(blobs, caller, NAME, 40);
    await put(blobs, caller, NAME, 20);
    assert.deepEqual(await used(caller), { bytes: 20, blobs: 1 });
  });

  test("the quota counts blobs too, and a stored one may be replaced", async () => {
    const [blobs, caller] = [service(), newCaller()];
    for (let i = 0; i < QUOTA.blobs; i++) await put(blobs, caller, `feature_engine_${i}.json`, 1);
    await assert.rejects(blobs.beginUpload(caller, "feature_engine_more.json", 1), (error) => {
      assert.ok(isCode("quota_exceeded")(error));
      assert.match((error as Error).message, /5 blobs of 5 bytes.*\(stored_blobs_per_caller\)/);
      return true;
    });
    await put(blobs, caller, "feature_engine_0.json", 2);
    assert.equal(await blobs.remove(caller, "feature_engine_1.json"), true);
    await put(blobs, caller, "feature_engine_more.json", 1);
  });

  test("concurrent uploads of new blobs stay within the number of blobs", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const begun = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => blobs.beginUpload(caller, `feature_engine_${i}.json`, 1)),
    );
    const uploads = begun.flatMap((each) => (each.status === "fulfilled" ? [each.value!] : []));
    assert.equal(uploads.length, QUOTA.blobs);
    for (const upload of uploads) await upload.close();
    await put(blobs, caller, NAME, 1);
  });

  test("of concurrent uploads of one name the stored one counts, whichever is recorded last", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const [small, large] = [
      await blobs.beginUpload(caller, NAME, 10),
      await blobs.beginUpload(caller, NAME, 60),
    ];
    await small!.store.put(small!.key, "x".repeat(10));
    await large!.store.put(large!.key, "x".repeat(60));
    await large!.finish(60);
    await small!.finish(10);
    assert.deepEqual(await used(caller), { bytes: 60, blobs: 1 });
  });

  test("an upload of unknown length has the room that was left when it began", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await put(blobs, caller, "data_extractor_1.json", 40);
    const upload = (await blobs.beginUpload(caller, NAME, undefined))!;
    upload.checkRoom(60);
    assert.throws(() => upload.checkRoom(61), isCode("quota_exceeded"));
    await assert.rejects(blobs.beginUpload(caller, NAME, 101), isCode("too_large"), "it would never fit");
  });

  test("a job whose output would not fit is refused", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await put(blobs, caller, NAME, 100);
    assert.equal((await submit(caller, NAME)).kind, "over quota");
    await put(blobs, newCaller(), NAME, 100);
    assert.equal(await blobs.remove(caller, NAME), true);
    await put(blobs, caller, NAME, 99);
    for (let i = 1; i < QUOTA.blobs; i++) assert.equal((await submit(caller, NAME)).kind, "created");
    assert.equal((await submit(caller, NAME)).kind, "over quota", "outputs to come count");
  });

  test("concurrent submissions stay within the quota", async () => {
    for (let round = 0; round < 5; round++) {
      const [blobs, caller] = [service(), newCaller()];
      await put(blobs, caller, NAME, 1);
      const kinds = await Promise.all(Array.from({ length: 8 }, () => submit(caller, NAME)));
      assert.equal(1 + kinds.filter(({ kind }) => kind === "created").length, QUOTA.blobs);
    }
  });
});
