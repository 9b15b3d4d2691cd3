/** Removals, and services that are killed between two steps of an upload or a removal: fakes, whose storage never answers again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BlobStore } from "../../blob/store.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import { canceledProblem } from "../queue/finish-attempt.ts";
import { endOperation } from "../store/attempts.ts";
import { blobFixture, fail, isCode, LOCAL, NAME, newCaller, newName } from "./blob-fixture.testing.ts";
import type { StoredBlobs } from "./blobs.ts";
import { spaceOf } from "./storage.ts";

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, put, used, sizeOf, submit, trySubmit, sweep, interruptAll } = fixture;
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
    await interruptAll();
    await sweep();
    assert.equal(await sizeOf(blobs, caller), 10);
    assert.equal(await blobs.remove(caller, other), true);
    const ending = { status: "Canceled", problem: canceledProblem() } as const;
    const ended = await endOperation(fixture.eventParts, row, ending);
    assert.deepEqual(ended?.options, {}, "forgotten with the config");
    for (const name of [NAME, earlier]) assert.equal(await blobs.remove(caller, name), true);
  });

  test("an output counts and is found once its operation has succeeded, and can be removed", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await put(blobs, caller, NAME, 10);
    const row = await submit(caller, NAME);
    const name = `ml_engine_${row.id}.json`;
    const urls = { output_url: `/data/${name}`, output_name: name };
    const record = { status: "Succeeded", ...urls, execution_name: "ml-worker-job-1" } as const;
    await fixture.store.within(row.space).put(`data/${name}`, "1234567");
    assert.equal(await blobs.remove(caller, name), false);
    await endOperation(fixture.eventParts, row, { status: "Succeeded", record, bytes: 7 });
    assert.deepEqual(await used(caller), { bytes: 17, blobs: 2 });
    assert.equal(await sizeOf(blobs, caller, name), 7);
    for (const each of [NAME, name]) assert.equal(await blobs.remove(caller, each), true);
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
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

  test("of concurrent removals by two services one removes the blob, and none fails", async () => {
    const another = await tested.another().catch(() => fixture.database);
    const [one, two] = [service(), service({ database: another })];
    for (let round = 0; round < 5; round++) {
      const caller = newCaller();
      await put(one, caller, NAME, 10);
      const removed = await Promise.all([one, two, one, two].map((blobs) => blobs.remove(caller, NAME)));
      assert.deepEqual(removed.toSorted(), [false, false, false, true]);
      assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    }
  });

  test("a removal that the storage refused is done by the next request, upload or sweep", async () => {
    const [blobs, failing, caller] = [service(), refusing(), newCaller()];
    for (const next of [
      () => blobs.remove(caller, NAME),
      () => put(blobs, caller, NAME, 10),
      () => sweep(),
    ]) {
      await put(blobs, caller, NAME, 10);
      for (let times = 0; times < 2; times++)
        await assert.rejects(failing.remove(caller, NAME), isCode("storage_failed"));
      assert.equal(await blobs.find(caller, NAME), undefined);
      await assert.rejects(failing.beginUpload(caller, NAME, 1), isCode("storage_failed"));
      await next();
    }
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    assert.equal(await fixture.store.within(spaceOf(caller.subject)).stat(`data/${NAME}`), undefined);
  });

  test("an upload, a removal and a sweep leave a removal in progress alone", async () => {
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
    await sweep();
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 });
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
    test(`a removal that is killed ${when} the bytes are removed is finished, and no job names its blob`, async () => {
      const [alive, caller] = [service(), newCaller()];
      await put(alive, caller, NAME, 10);
      await killed("remove", when, (blobs) => blobs.remove(caller, NAME));
      assert.equal(await sizeOf(alive, caller), undefined);
      assert.equal(await trySubmit(caller, NAME), "url_not_allowed");
      await sweep();
      await assert.rejects(alive.beginUpload(caller, NAME, 1), isCode("unavailable"));
      // As ten minutes later.
      await interruptAll();
      await sweep();
      assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
      await put(alive, caller, NAME, 20);
      await sweep();
      assert.equal(await sizeOf(alive, caller), 20);
    });
  }

  test("an upload of the operator that is killed is never open to other callers, and can be sent again", async () => {
    const [before, alive] = [await used(LOCAL), service()];
    for (const [attempt, stored] of [
      [(name: string) => killed("put", "after", (blobs) => put(blobs, LOCAL, name, 20)), 20],
      [(name: string) => killed("put", "before", (blobs) => put(blobs, LOCAL, name, 20)), undefined],
    ] as const) {
      const [again, given] = [newName(), newName()];
      for (const name of [again, given]) {
        await attempt(name);
        assert.equal((await fixture.store.stat(`data/${name}`))?.size, stored);
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
    assert.deepEqual(await used(LOCAL), before ?? { bytes: 0, blobs: 0 });
  });

  test("an upload of the operator that fails keeps its name only if its bytes are stored", async () => {
    const refusing = (changes: Partial<BlobStore>) => service({ store: fixture.storeThat(() => changes) });
    const before = await used(LOCAL);
    await assert.rejects(put(refusing({ put: fail }), LOCAL, newName(), 20), isCode("output_failed"));
    assert.deepEqual(await used(LOCAL), before);
    const name = newName();
    const upload = (await service().beginUpload(LOCAL, name, 20))!;
    await upload.store.put(upload.key, "x");
    await upload.close();
    assert.equal(await service().isOpen(name), false);
  });
});
