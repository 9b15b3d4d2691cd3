/** Blobs of callers: their lists, quotas and removals, and services that are killed between two steps of an upload or a removal. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { BlobListQuery } from "../../contract/api/prepared-blobs.ts";
import type { Caller } from "../auth/caller.ts";
import { newRow, onEachDatabase } from "../database/databases.testing.ts";
import { canceledProblem } from "../queue/finish-attempt.ts";
import { endOperation } from "../store/attempts.ts";
import { blobFixture, fail, isCode, LOCAL, NAME, newCaller, newName, QUOTA } from "./blob-fixture.testing.ts";
import type { BlobUpload, StoredBlobs } from "./blobs.ts";
import { spaceOf } from "./storage.ts";

const CONTENTS = { ticker_count: 2, dates: 10, start: "2024-01-02", end: "2024-01-15" };

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, put, record, used, sizeOf, submit, trySubmit, sweep, interruptAll } = fixture;

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

  test("a cursor of another caller shows nothing of that caller", async () => {
    const [blobs, ann, ben] = [service(), newCaller(), newCaller()];
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

  test("a job whose output would not fit is refused, also of concurrent submissions", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await put(blobs, caller, NAME, 100);
    assert.equal(await trySubmit(caller, NAME), "quota_exceeded");
    const other = newCaller();
    await put(blobs, other, NAME, 99);
    const kinds = await Promise.all(Array.from({ length: 8 }, () => trySubmit(other, NAME)));
    assert.equal(1 + kinds.filter((kind) => kind === "created").length, QUOTA.blobs, "outputs to come count");
  });

  const refusing = () => service({ store: fixture.storeThat(() => ({ remove: fail })) });

  test("a blob that an operation names, also in its options, cannot be removed before its end", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const [earlier, other] = ["feature_engine_earlier.json", "feature_engine_other.json"];
    for (const name of [NAME, earlier, other]) await put(blobs, caller, name, 10);
    const options = {
      previous_feature_url: `/${spaceOf(caller.subject)}/data/${earlier}`,
      output_url: "https://a.example/c/data/ml_engine_1.json?sig=secret",
      // PostgreSQL cannot read a member of an object with such texts.
      ...{ quick: true, accept: ["a\0b", "\ud800"] },
    };
    const row = await submit(caller, NAME, options);
    assert.deepEqual(row.options, options);
    for (const name of [NAME, earlier])
      await assert.rejects(blobs.remove(caller, name), { code: "blob_in_use", message: new RegExp(row.id) });
    assert.equal(await blobs.remove(caller, other), true);
    const ending = { status: "Canceled", problem: canceledProblem() } as const;
    const ended = await endOperation(fixture.eventParts, row, ending);
    assert.deepEqual(ended?.options, {}, "forgotten with the config");
    for (const name of [NAME, earlier]) assert.equal(await blobs.remove(caller, name), true);
  });

  test("of a concurrent removal and submission one is refused", async () => {
    const blobs = service();
    for (let round = 0; round < 8; round++) {
      const caller = newCaller();
      await put(blobs, caller, NAME, 1);
      const [removed, inserted] = await Promise.allSettled([
        blobs.remove(caller, NAME),
        trySubmit(caller, NAME),
      ]);
      const isGone = removed.status === "fulfilled";
      assert.equal(inserted.status === "fulfilled" && inserted.value, isGone ? "url_not_allowed" : "created");
      if (!isGone) assert.ok(isCode("blob_in_use")(removed.reason));
      assert.equal((await blobs.find(caller, NAME)) === undefined, isGone);
    }
  });

  test("a removal that the storage refused is done by the next request or upload", async () => {
    const [blobs, failing, caller] = [service(), refusing(), newCaller()];
    for (const next of [() => put(blobs, caller, NAME, 10), () => blobs.remove(caller, NAME)]) {
      await put(blobs, caller, NAME, 10);
      for (let times = 0; times < 2; times++)
        await assert.rejects(failing.remove(caller, NAME), isCode("storage_failed"));
      assert.equal(await blobs.find(caller, NAME), undefined);
      await next();
    }
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    assert.equal(await fixture.store.within(spaceOf(caller.subject)).stat(`data/${NAME}`), undefined);
  });

  test("an upload and another removal leave a removal in progress alone", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = fixture.storeThat((own) => ({
      remove: async (key) => {
        reached.resolve();
        await gate.promise;
        await own.remove(key);
      },
    }));
    await put(blobs, caller, NAME, 10);
    const removed = service({ store: slow }).remove(caller, NAME);
    await reached.promise;
    await assert.rejects(blobs.beginUpload(caller, NAME, 5), isCode("unavailable"));
    assert.equal(await blobs.remove(caller, NAME), false);
    gate.resolve();
    assert.equal(await removed, true);
    await put(blobs, caller, NAME, 5);
    assert.deepEqual(await used(caller), { bytes: 5, blobs: 1 });
  });

  test("no upload is answered whose bytes a removal took: the removal began or ended meanwhile", async () => {
    const [blobs, failing, caller] = [service(), refusing(), newCaller()];
    for (const meanwhile of [
      () => blobs.remove(caller, NAME),
      () => assert.rejects(failing.remove(caller, NAME), isCode("storage_failed")),
    ]) {
      await put(blobs, caller, NAME, 10);
      const upload = (await blobs.beginUpload(caller, NAME, 20))!;
      await upload.store.put(upload.key, "x".repeat(20));
      await meanwhile();
      await assert.rejects(upload.finish(20), isCode("unavailable"));
      await put(blobs, caller, NAME, 30);
      assert.equal(await sizeOf(blobs, caller), 30);
    }
  });

  /** Runs `work` on a service that is killed when its storage is asked for the step, or has done it. */
  async function killed(
    step: "put" | "stat" | "remove",
    when: "before" | "after",
    work: (blobs: StoredBlobs) => Promise<unknown>,
  ): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const storage = fixture.storeThat((own) => ({
      [step]: async (...request: never[]) => {
        const asked = own[step] as (...request: never[]) => Promise<unknown>;
        if (when === "after") await asked.apply(own, request);
        resolve();
        await new Promise<never>(() => undefined);
      },
    }));
    void work(service({ store: storage }));
    await promise;
  }

  for (const [step, when, first, replaced] of [
    ["put", "before", undefined, 10],
    ["put", "after", undefined, 20],
    ["stat", "before", 20, 20],
  ] as const) {
    test(`an upload that is killed ${when} ${step} loses no blob, and can be sent again`, async () => {
      const [alive, ann, ben] = [service(), newCaller(), newCaller()];
      await killed(step, when, (blobs) => put(blobs, ann, NAME, 20));
      assert.equal(await sizeOf(alive, ann), first);
      assert.equal(await sizeOf(alive, ben), undefined);
      assert.equal(await trySubmit(ann, NAME), first === undefined ? "url_not_allowed" : "created");
      await put(alive, ben, NAME, 10);
      await killed(step, when, (blobs) => put(blobs, ben, NAME, 20));
      assert.equal(await sizeOf(alive, ben), replaced);
      assert.equal(await trySubmit(ben, NAME), "created");
      for (const caller of [ann, ben]) {
        await put(alive, caller, NAME, 30);
        assert.equal(await sizeOf(alive, caller), 30);
        assert.equal((await used(caller))?.bytes, 30);
      }
    });
  }

  for (const when of ["before", "after"] as const) {
    test(`a removal that is killed ${when} the bytes are removed is finished by the sweep, and no job names its blob`, async () => {
      const [alive, caller] = [service(), newCaller()];
      await put(alive, caller, NAME, 10);
      await killed("remove", when, (blobs) => blobs.remove(caller, NAME));
      assert.equal(await sizeOf(alive, caller), undefined);
      assert.equal(await trySubmit(caller, NAME), "url_not_allowed");
      await assert.rejects(alive.beginUpload(caller, NAME, 1), isCode("unavailable"));
      // Then as ten minutes later.
      await sweep();
      assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 });
      await interruptAll();
      await sweep();
      assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    });
  }

  test("an upload of the operator that is killed is never open to other callers, and can be sent again", async () => {
    const alive = service();
    for (const when of ["before", "after"] as const) {
      const [again, given] = [newName(), newName()];
      for (const name of [again, given]) {
        await killed("put", when, (blobs) => put(blobs, LOCAL, name, 20));
        assert.equal(await alive.find(LOCAL, name), undefined);
        // Without its row, these bytes would be open.
        await fixture.store.put(`data/${name}`, "x");
        assert.equal(await alive.isOpen(name), false);
      }
      await put(alive, LOCAL, again, 30);
      assert.equal(await sizeOf(alive, LOCAL, again), 30);
      assert.equal(await alive.remove(LOCAL, again), true);
      // As a week later.
      await interruptAll();
      await sweep();
      assert.equal(await fixture.store.stat(`data/${given}`), undefined);
    }
  });
});
