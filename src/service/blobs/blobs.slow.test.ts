import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { BlobListQuery } from "../../contract/api/prepared-blobs.ts";
import type { Caller } from "../auth/caller.ts";
import { newRow, onEachDatabase, withMembers } from "../database/databases.testing.ts";
import { blobFixture, fail, isCode, LOCAL, NAME, newCaller, newName, QUOTA } from "./blob-fixture.testing.ts";
import type { BlobUpload, StoredBlobs } from "./blobs.ts";
import { spaceOf } from "./storage.ts";

const CONTENTS = { ticker_count: 2, dates: 10, start: "2024-01-02", end: "2024-01-15" };

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, put, record, used, sizeOf, submit } = fixture;

  /** Stores a blob of 7 bytes as a preparation does. @param meanwhile between its bytes and its record. */
  async function prepare(
    blobs: StoredBlobs,
    caller: Caller,
    name: string,
    meanwhile: (upload: BlobUpload) => Promise<unknown> = async () => undefined,
  ): Promise<void> {
    const upload = (await blobs.beginUpload(caller, name, 7))!;
    const { etag } = await upload.store.put(upload.key, "x".repeat(7));
    await meanwhile(upload);
    await upload.finish(7, { contents: CONTENTS, etag });
  }

  async function names(blobs: StoredBlobs, caller: Caller, query: Partial<BlobListQuery> = {}) {
    const page = await blobs.list(caller, { limit: 20, ...query });
    return page.blobs.map(({ name }) => name);
  }

  test("a blob lies in its caller's space, and no other caller finds it", async () => {
    const [blobs, ann, ben] = [service(), newCaller(), newCaller()];
    await put(blobs, ann, NAME, 3);
    assert.equal(await sizeOf(blobs, ann), 3);
    assert.equal((await fixture.store.within(spaceOf(ann.subject)).stat(`data/${NAME}`))?.size, 3);
    assert.equal(await blobs.find(ben, NAME), undefined);
    assert.equal(await blobs.remove(ben, NAME), false);
    assert.equal(await fixture.store.stat(`data/${NAME}`), undefined);
  });

  test("a blob from before callers had spaces is found, replaced and removed where it lies", async () => {
    const [blobs, ann, name] = [service(), newCaller(), newName()];
    await fixture.store.put(`data/${name}`, "old");
    await record(ann, name, "");
    assert.equal(await sizeOf(blobs, ann, name), 3);
    for (const auth of ["keys", "none"] as const) {
      const other = service({ settings: { auth } });
      assert.equal(await other.uploadAddress(LOCAL, name), undefined, "another caller has it");
      assert.equal(await other.beginUpload(LOCAL, name, 1), undefined);
      assert.equal(await other.find(LOCAL, name), undefined);
      assert.equal(await other.remove(LOCAL, name), false);
    }
    await put(blobs, ann, name, 5);
    assert.equal((await fixture.store.stat(`data/${name}`))?.size, 5);
    assert.equal(await blobs.remove(ann, name), true);
    assert.equal(await fixture.store.stat(`data/${name}`), undefined);
    assert.deepEqual(await used(ann), { bytes: 0, blobs: 0 });
  });

  test("the operator's own files are read and removed only where there is one caller", async () => {
    const name = newName();
    await fixture.store.put(`data/${name}`, "operator");
    assert.equal(await service().find(LOCAL, name), undefined);
    assert.equal(await service().uploadAddress(LOCAL, name), undefined);
    assert.equal(await service().remove(LOCAL, name), false);
    const open = service({ settings: { auth: "none" } });
    assert.ok((await open.find(LOCAL, name)) && (await open.uploadAddress(LOCAL, name)));
    assert.equal(await open.remove(LOCAL, name), true);
    assert.equal(await open.remove(LOCAL, name), false);
  });

  test("jobs of all callers may read a blob at the root only if no caller owns it", async () => {
    const [blobs, name] = [service(), newName()];
    assert.equal(await blobs.isOpen(name), false, "there is none");
    await fixture.store.put(`data/${name}`, "operator");
    assert.equal(await blobs.isOpen(name), true);
    await record(LOCAL, name);
    assert.equal(await blobs.isOpen(name), false);
    assert.equal(await blobs.remove(LOCAL, name), true);
    const operation = { ...newRow(randomUUID(), "local"), status: "Failed" } as const;
    await fixture.database.write((db) => db.insertInto("operations").values(operation).execute());
    const output = `ml_engine_${operation.id}.json`;
    await fixture.store.put(`data/${output}`, "{}");
    assert.equal(await blobs.isOpen(output), false, "an operation has written it");
  });

  test("two concurrent uploads of the same new name at the root both find room", async () => {
    const { database } = fixture;
    const first = service();
    // After each of the statements of the second one.
    for (let after = 0; after < 2; after++) {
      const name = newName();
      let statements = 0;
      const db = database.db.withPlugin({
        transformQuery: ({ node }) => node,
        transformResult: async ({ result }) => {
          if (statements++ === after) await put(first, LOCAL, name, 3);
          return result;
        },
      });
      const second = service({ database: withMembers(database, { db }) });
      assert.ok(await second.uploadAddress(LOCAL, name), `after statement ${after}`);
      assert.equal(await first.remove(LOCAL, name), true);
    }
  });

  test("a list has the blobs of its caller alone, newest first, with size, kind and contents", async () => {
    const [blobs, ann, ben] = [service(), newCaller(), newCaller()];
    await put(blobs, ann, "data_extractor_1.json", 5);
    await prepare(blobs, ann, "feature_engine_1.parquet");
    await put(blobs, ben, NAME, 3);
    await record(ann, "ml_engine_1.json");
    const { blobs: listed, cursor } = await blobs.list(ann, { limit: 20 });
    assert.equal(cursor, undefined);
    assert.deepEqual(
      listed.map(({ name, kind, bytes, contents }) => [name, kind, bytes, contents]),
      [
        ["ml_engine_1.json", "output", null, null],
        ["feature_engine_1.parquet", "features", 7, CONTENTS],
        ["data_extractor_1.json", "prices", 5, null],
      ],
    );
    assert.equal(listed[1]!.store.url, fixture.store.within(spaceOf(ann.subject)).url);
    assert.deepEqual(await names(blobs, ann, { kind: "prices" }), ["data_extractor_1.json"]);
    assert.deepEqual(await names(blobs, ben), [NAME]);
  });

  test("a replaced blob comes first in the list, and one that is being removed is in none", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await prepare(blobs, caller, NAME);
    await put(blobs, caller, "feature_engine_2.json", 1);
    await put(blobs, caller, NAME, 7);
    const [first] = (await blobs.list(caller, { limit: 1 })).blobs;
    assert.deepEqual([first!.name, first!.contents], [NAME, null], "its former contents are forgotten");
    const refusing = service({ store: fixture.storeThat(() => ({ remove: fail })) });
    await assert.rejects(refusing.remove(caller, NAME), isCode("storage_failed"));
    assert.deepEqual(await names(blobs, caller), ["feature_engine_2.json"]);
  });

  test("an upload that another one has replaced records the other's size, and no contents", async () => {
    for (const bytes of ["of another size", "another"]) {
      const [blobs, caller] = [service(), newCaller()];
      await prepare(blobs, caller, NAME, ({ store, key }) => store.put(key, bytes));
      const [only] = (await blobs.list(caller, { limit: 1 })).blobs;
      assert.deepEqual([only!.bytes, only!.contents], [bytes.length, null]);
      assert.deepEqual(await used(caller), { bytes: bytes.length, blobs: 1 });
    }
  });

  test("pages have each blob once, also if blobs were stored at the same moment or are stored in between", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const nameOf = (id: number) => `feature_engine_${id}.json`;
    for (const id of [1, 2, 3, 4, 5]) await put(blobs, caller, nameOf(id), 1);
    for (const [ids, time] of [
      [[1, 2], "2026-01-05T08:30:09.122Z"],
      [[3, 4, 5], "2026-01-05T08:30:09.123Z"],
    ] as const) {
      await fixture.database.write(async (db) => {
        const rows = db.updateTable("blobs").set({ created_at: new Date(time) });
        await rows.where("caller", "=", caller.subject).where("name", "in", ids.map(nameOf)).execute();
      });
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await blobs.list(caller, { limit: 2, cursor });
      seen.push(...page.blobs.map(({ name }) => name));
      cursor = page.cursor;
      if (seen.length === 2) assert.equal(await blobs.remove(caller, nameOf(4)), true);
      if (seen.length === 2) await put(blobs, caller, nameOf(6), 1);
    } while (cursor !== undefined);
    assert.deepEqual(seen, [5, 4, 3, 2, 1].map(nameOf));
  });

  test("a cursor that no list returned is refused, and one of another caller shows nothing of that caller", async () => {
    const [blobs, ann, ben] = [service(), newCaller(), newCaller()];
    for (const cursor of ["x", "", Buffer.from("12 a\u0000").toString("base64url"), "\u20ac"])
      await assert.rejects(blobs.list(ann, { limit: 1, cursor }), isCode("invalid_request"), cursor);
    for (const name of [NAME, "feature_engine_2.json"]) await put(blobs, ann, name, 1);
    const { cursor } = await blobs.list(ann, { limit: 1 });
    assert.deepEqual(await names(blobs, ben, { cursor: cursor! }), []);
  });

  test("uploads stay within the quota of bytes one after the other, and concurrent ones of a service too", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const begin = (id: number, bytes?: number) =>
      blobs.beginUpload(caller, `feature_engine_${id}.json`, bytes);
    await assert.rejects(begin(1, 101), isCode("too_large"), "it would never fit");
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
    assert.deepEqual(await used(caller), { bytes: 40, blobs: 1 });
    const [small, large] = [
      (await blobs.beginUpload(caller, NAME, 10))!,
      (await blobs.beginUpload(caller, NAME, 50))!,
    ];
    await small.store.put(small.key, "x".repeat(10));
    await large.store.put(large.key, "x".repeat(50));
    await large.finish(50);
    await small.finish(10);
    assert.deepEqual(await used(caller), { bytes: 50, blobs: 1 }, "whichever is recorded last");
  });

  test("the quota counts blobs too, with concurrent uploads, and a stored one may be replaced", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const nameOf = (id: number) => `feature_engine_${id}.json`;
    const begun = await Promise.allSettled(
      Array.from({ length: 20 }, (_, id) => blobs.beginUpload(caller, nameOf(id), 1)),
    );
    const uploads = begun.flatMap((each) => (each.status === "fulfilled" ? [each.value!] : []));
    assert.equal(uploads.length, QUOTA.blobs);
    for (const upload of uploads) await upload.close();
    for (let id = 0; id < QUOTA.blobs; id++) await put(blobs, caller, nameOf(id), 1);
    await assert.rejects(blobs.beginUpload(caller, "feature_engine_more.json", 1), {
      code: "quota_exceeded",
      message: /5 blobs of 5 bytes.*\(stored_blobs_per_caller\)/,
    });
    await put(blobs, caller, nameOf(0), 2);
    assert.equal(await blobs.remove(caller, nameOf(1)), true);
    await put(blobs, caller, "feature_engine_more.json", 1);
  });

  test("a job whose output would not fit is refused, also of concurrent submissions", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await put(blobs, caller, NAME, 100);
    assert.equal((await submit(caller, NAME)).kind, "over quota");
    const other = newCaller();
    await put(blobs, other, NAME, 99);
    const kinds = await Promise.all(Array.from({ length: 8 }, () => submit(other, NAME)));
    assert.equal(
      1 + kinds.filter(({ kind }) => kind === "created").length,
      QUOTA.blobs,
      "outputs to come count",
    );
  });
});
