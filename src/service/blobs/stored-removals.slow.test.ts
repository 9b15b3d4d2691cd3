import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import { canceledProblem } from "../queue/finish-attempt.ts";
import { endOperation } from "../store/attempts.ts";
import { blobFixture, fail, isCode, NAME, newCaller } from "./blob-fixture.testing.ts";
import { spaceOf } from "./blobs.ts";

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, put, used, submit } = fixture;

  test("a blob that a waiting or running operation names cannot be removed before its end", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await put(blobs, caller, NAME, 10);
    const submitted = await submit(caller, NAME);
    assert.ok(submitted.kind === "created");
    const { id } = submitted.row;
    await assert.rejects(blobs.remove(caller, NAME), (error) => {
      assert.ok(isCode("blob_in_use")(error));
      assert.ok((error as Error).message.includes(id));
      return true;
    });
    await assert.rejects(
      blobs.remove(caller, `ml_engine_${id}.json`),
      isCode("blob_in_use"),
      "its output too",
    );
    const record = {
      status: "Succeeded",
      output_url: `/data/ml_engine_${id}.json`,
      output_name: `ml_engine_${id}.json`,
      execution_name: "ml-worker-job-1",
    } as const;
    const ending = { status: "Succeeded", record, bytes: 7 } as const;
    await endOperation(fixture.eventParts, submitted.row, ending);
    assert.deepEqual(await used(caller), { bytes: 17, blobs: 2 });
    assert.equal(await blobs.remove(caller, NAME), true);
    assert.ok(await blobs.find(caller, record.output_name));
    assert.equal(await blobs.remove(caller, record.output_name), true);
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
  });

  test("nor one that its options name, which are forgotten with the config at its end", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const earlier = "feature_engine_earlier.json";
    const other = "feature_engine_other.json";
    for (const name of [NAME, earlier, other]) await put(blobs, caller, name, 10);
    const previous_feature_url = `/${spaceOf(caller.subject)}/data/${earlier}`;
    const output_url = "https://a.example/c/data/ml_engine_1.json?sig=secret";
    // PostgreSQL cannot read a member of an object with such texts.
    const options = { previous_feature_url, output_url, quick: true, accept: ["a\0b", "\ud800"] };
    const submitted = await submit(caller, NAME, options);
    assert.ok(submitted.kind === "created");
    assert.deepEqual(submitted.row.options, options);
    await assert.rejects(blobs.remove(caller, earlier), isCode("blob_in_use"));
    assert.equal(await blobs.remove(caller, other), true);
    const ending = { status: "Canceled", problem: canceledProblem() } as const;
    const ended = await endOperation(fixture.eventParts, submitted.row, ending);
    assert.deepEqual(ended?.options, {});
    assert.equal(await blobs.remove(caller, earlier), true);
  });

  test("of a concurrent removal and submission one is refused", async () => {
    const blobs = service();
    for (let round = 0; round < 8; round++) {
      const caller = newCaller();
      await put(blobs, caller, NAME, 1);
      const [removed, submitted] = await Promise.allSettled([
        blobs.remove(caller, NAME),
        submit(caller, NAME),
      ]);
      const isGone = removed.status === "fulfilled";
      assert.equal(submitted.status === "fulfilled" && submitted.value.kind, isGone ? "missing" : "created");
      if (!isGone) assert.ok(isCode("blob_in_use")(removed.reason));
      assert.equal((await blobs.find(caller, NAME)) === undefined, isGone);
    }
  });

  /** As if every removal of the caller had begun so many seconds ago. */
  const age = (caller: Caller, seconds = 3_600) =>
    fixture.database.write((db) =>
      db
        .updateTable("blobs")
        .set({ removed_at: fixture.database.time(-seconds), state: "removing" })
        .where("caller", "=", caller.subject)
        .where(({ eb, or }) => or([eb("state", "=", "removing"), eb(sql.lit(seconds), "=", 0)]))
        .execute(),
    );

  test("a removal that the storage refused is done by the next request, upload or sweep", async () => {
    const caller = newCaller();
    const refusing = fixture.storeThat(() => ({ remove: fail }));
    const [blobs, failing] = [service(), service({ store: refusing })];
    for (const next of [
      () => blobs.remove(caller, NAME),
      () => put(blobs, caller, NAME, 10),
      () => fixture.sweep(),
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

  test("of concurrent removals by two services one removes the blob, and none fails", async () => {
    const [one, two] = [
      service(),
      service({ database: await tested.another().catch(() => fixture.database) }),
    ];
    for (let round = 0; round < 5; round++) {
      const caller = newCaller();
      await put(one, caller, NAME, 10);
      const removed = await Promise.all([one, two, one, two].map((blobs) => blobs.remove(caller, NAME)));
      assert.deepEqual(removed.toSorted(), [false, false, false, true]);
      assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    }
  });

  test("an upload, a removal and a sweep leave a removal in progress alone", async () => {
    const caller = newCaller();
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = fixture.storeThat((own) => ({
      remove: async (key) => {
        reached.resolve();
        await gate.promise;
        await own.remove(key);
      },
    }));
    const blobs = service();
    await put(blobs, caller, NAME, 10);
    const removed = service({ store: slow }).remove(caller, NAME);
    await reached.promise;
    await assert.rejects(blobs.beginUpload(caller, NAME, 5), isCode("unavailable"));
    assert.equal(await blobs.remove(caller, NAME), false);
    await fixture.sweep();
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 });
    gate.resolve();
    assert.equal(await removed, true);
    await put(blobs, caller, NAME, 5);
    assert.deepEqual(await used(caller), { bytes: 5, blobs: 1 });
  });

  test("no upload is answered whose bytes a removal took: the removal began or ended meanwhile", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const refusing = service({ store: fixture.storeThat(() => ({ remove: fail })) });
    for (const meanwhile of [
      () => blobs.remove(caller, NAME),
      () => assert.rejects(refusing.remove(caller, NAME), isCode("storage_failed")),
    ]) {
      await put(blobs, caller, NAME, 10);
      const upload = (await blobs.beginUpload(caller, NAME, 20))!;
      await upload.store.put(upload.key, "x".repeat(20));
      await meanwhile();
      await assert.rejects(upload.finish(20), isCode("unavailable"));
      await put(blobs, caller, NAME, 30);
      const found = (await blobs.find(caller, NAME))!;
      assert.equal((await found.store.stat(found.key))?.size, 30);
    }
  });

  test("a blob that the storage refuses delays the removal of no other", async () => {
    const caller = newCaller();
    const blobs = service();
    const names = Array.from({ length: 3 }, (_, i) => `feature_engine_${i}.json`);
    for (const name of names) await put(blobs, caller, name, 10);
    await age(caller, 0);
    await age(caller);
    const stuck = fixture.storeThat((own) => ({
      remove: (key) => (key.endsWith("_0.json") ? fail() : own.remove(key)),
    }));
    await fixture.sweep(stuck);
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 });
    await fixture.sweep();
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
  });

  test("a service that is alone finishes an interrupted removal at its start", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await put(blobs, caller, NAME, 10);
    await age(caller, 0);
    await fixture.sweep();
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 }, "another service may be doing it");
    await fixture.interruptAll();
    await fixture.sweep();
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
  });
});
