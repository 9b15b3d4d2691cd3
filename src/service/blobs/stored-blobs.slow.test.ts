import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { Caller } from "../auth/caller.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import { recordBlob } from "../store/blob-records.ts";
import { UPLOAD_LEASE_SECONDS } from "../store/blob-uploads.ts";
import { blobFixture, isCode, NAME, newCaller, QUOTA } from "./blob-fixture.testing.ts";
import { spaceOf } from "./blobs.ts";

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, put, used, reconcile, submit } = fixture;

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
    await fixture.database.transaction((statements) => recordBlob(statements, record));
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
    await reconcile(blobs);
    assert.deepEqual(await used(ann), { bytes: 3, blobs: 1 }, "its size is looked up");
    await put(blobs, ann, name, 5);
    assert.equal((await fixture.store.stat(`data/${name}`))?.size, 5);
    assert.equal(await blobs.remove(ann, name), true);
    assert.equal(await fixture.store.stat(`data/${name}`), undefined);
    assert.deepEqual(await used(ann), { bytes: 0, blobs: 0 });
  });

  test("two uploads of one new name at the same time find room both", async () => {
    const local: Caller = { subject: "local", scopes: new Set(["write"]) };
    const name = `feature_engine_${randomUUID()}.json`;
    const { database } = fixture;
    const first = service({ settings: { auth: "none" } });
    let statements = 0;
    const second = service({
      settings: { auth: "none" },
      database: Object.assign(Object.create(database), {
        query: async (...statement: Parameters<typeof database.query>) => {
          const result = await database.query(...statement);
          if (statements++ === 0) await put(first, local, name, 3);
          return result;
        },
      }),
    });
    assert.ok(await second.uploadAddress(local, name));
    assert.equal(await first.remove(local, name), true);
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

  test("concurrent uploads to two services stay within the quota", async () => {
    const caller = newCaller();
    const [one, two] = [
      service(),
      service({ database: await tested.another().catch(() => fixture.database) }),
    ];
    const begun = await Promise.allSettled(
      Array.from({ length: 12 }, (_, i) =>
        (i % 2 ? one : two).beginUpload(caller, `feature_engine_${i}.json`, 30),
      ),
    );
    const uploads = begun.flatMap((result) => (result.status === "fulfilled" ? [result.value!] : []));
    assert.equal(uploads.length, 3);
    for (const { status, ...rest } of begun) {
      if (status === "rejected") assert.ok(isCode("quota_exceeded")((rest as { reason: unknown }).reason));
    }
    await uploads[0]!.discard();
    await put(two, caller, "feature_engine_late.json", 30);
    for (const upload of uploads.slice(1)) {
      await upload.store.put(upload.key, "x".repeat(30));
      await upload.finish(30);
    }
    assert.deepEqual(await used(caller), { bytes: 90, blobs: 3 });
    await assert.rejects(put(one, caller, "data_extractor_1.json", 11), isCode("quota_exceeded"));
    await put(one, caller, "data_extractor_1.json", 10);
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

  test("an upload of unknown length reserves room as it grows", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const upload = (await blobs.beginUpload(caller, NAME, undefined))!;
    await upload.reserve(40);
    await assert.rejects(put(blobs, caller, "data_extractor_1.json", 1), isCode("quota_exceeded"));
    await upload.reserve(100);
    await assert.rejects(upload.reserve(101), isCode("quota_exceeded"));
    await upload.discard();
    await put(blobs, caller, NAME, 100);
    await assert.rejects(blobs.beginUpload(caller, NAME, 101), isCode("too_large"), "it would never fit");
  });

  test("an interrupted upload is settled by what the storage has", async () => {
    const [dead, caller] = [service(), newCaller()];
    await put(dead, caller, "feature_engine_old.json", 10);
    const replaced = (await dead.beginUpload(caller, "feature_engine_old.json", 20))!;
    await replaced.store.put(replaced.key, "x".repeat(20));
    await dead.beginUpload(caller, "feature_engine_none.json", 30);
    const published = (await dead.beginUpload(caller, "feature_engine_new.json", 25))!;
    await published.store.put(published.key, "x".repeat(25));
    const alive = service();
    await reconcile(alive);
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 }, "it may still go on");
    await fixture.database.query(
      "update blob_uploads set lease_until = now() - interval '1 s' where caller = $1",
      [caller.subject],
    );
    await reconcile(dead);
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 }, "a service knows its own");
    await reconcile(alive);
    assert.deepEqual(await used(caller), { bytes: 45, blobs: 2 });
    assert.ok(await alive.find(caller, "feature_engine_new.json"));
    await put(alive, caller, "feature_engine_none.json", 55);
  });

  /** Reconciles with a storage that has `meanwhile` done between the first look at a blob and its answer. */
  async function reconcileWhile(meanwhile: () => Promise<unknown>): Promise<void> {
    let looks = 0;
    const storage = fixture.storeThat(undefined, async (key, own) => {
      const seen = await own.stat(key);
      if (looks++ === 0) await meanwhile();
      return seen;
    });
    await reconcile(service(), { storage });
  }

  async function interruptedUpload(caller: Caller, bytes: number): Promise<void> {
    const upload = (await service().beginUpload(caller, NAME, bytes))!;
    await upload.store.put(upload.key, "x".repeat(bytes));
    await fixture.database.query("update blob_uploads set lease_until = 'epoch' where caller = $1", [
      caller.subject,
    ]);
  }

  test("of two services that settle an upload one does, and the blob may have been removed since", async () => {
    const [alive, caller] = [service(), newCaller()];
    await interruptedUpload(caller, 20);
    await reconcileWhile(async () => {
      await reconcile(alive);
      assert.equal(await alive.remove(caller, NAME), true);
    });
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    assert.equal(await alive.find(caller, NAME), undefined);
  });

  test("an upload is settled by what the storage has, where another one replaces it at that moment", async () => {
    const [alive, caller] = [service(), newCaller()];
    await interruptedUpload(caller, 20);
    await reconcileWhile(() => put(alive, caller, NAME, 30));
    assert.deepEqual(await used(caller), { bytes: 30, blobs: 1 });
  });

  test("an interrupted upload keeps its room no longer because the database's clock was set back", async () => {
    const [dead, caller] = [service(), newCaller()];
    await dead.beginUpload(caller, NAME, 30);
    await fixture.database.query(
      "update blob_uploads set lease_until = now() + interval '1 day' where caller = $1",
      [caller.subject],
    );
    await reconcile(service());
    const { rows } = await fixture.database.query<{ seconds: number }>(
      "select extract(epoch from lease_until - now())::float8 as seconds from blob_uploads where caller = $1",
      [caller.subject],
    );
    assert.ok(rows[0]!.seconds <= UPLOAD_LEASE_SECONDS, "it has the time of a new lease, since it may go on");
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

  test("concurrent submissions and uploads stay within the quota", async () => {
    for (let round = 0; round < 5; round++) {
      const [blobs, caller] = [service(), newCaller()];
      await put(blobs, caller, NAME, 1);
      const jobs = Array.from({ length: 8 }, () => submit(caller, NAME));
      const uploads = Array.from({ length: 4 }, (_, i) =>
        blobs.beginUpload(caller, `data_extractor_${i}.json`, 1),
      );
      const [kinds, begun] = await Promise.all([Promise.all(jobs), Promise.allSettled(uploads)]);
      const taken = kinds.filter(({ kind }) => kind === "created").length;
      const reserved = begun.filter(({ status }) => status === "fulfilled").length;
      assert.equal(1 + taken + reserved, QUOTA.blobs);
    }
  });
});
