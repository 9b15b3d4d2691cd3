/** A service that is killed between two steps of an upload or a removal: here a fake, whose storage answers nothing from then on. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { BlobStore } from "../../blob/store.ts";
import type { Caller } from "../auth/caller.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import { ownerOf } from "../store/blobs.ts";
import { blobFixture, fail, isCode, NAME, newCaller } from "./blob-fixture.testing.ts";
import type { StoredBlobs } from "./stored-blobs.ts";

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, put, used, submit } = fixture;

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
    })) satisfies BlobStore;
    void work(service({ store: storage }));
    await promise;
  }

  async function sizeFor(blobs: StoredBlobs, caller: Caller): Promise<number | undefined> {
    const found = await blobs.find(caller, NAME);
    return found && (await found.store.stat(found.key))?.size;
  }

  for (const [step, when, first, replaced] of [
    ["put", "before", undefined, 10],
    ["put", "after", undefined, 20],
    ["stat", "before", 20, 20],
  ] as const) {
    test(`an upload that is killed ${when} ${step} loses no blob, and can be sent again`, async () => {
      const [alive, ann, ben] = [service(), newCaller(), newCaller()];
      await killed(step, when, (blobs) => put(blobs, ann, NAME, 20));
      assert.equal(await sizeFor(alive, ann), first);
      assert.equal(await sizeFor(alive, ben), undefined);
      assert.equal((await submit(ann, NAME)).kind, first === undefined ? "missing" : "created");
      await put(alive, ben, NAME, 10);
      await killed(step, when, (blobs) => put(blobs, ben, NAME, 20));
      assert.equal(await sizeFor(alive, ben), replaced);
      assert.equal((await submit(ben, NAME)).kind, "created");
      for (const caller of [ann, ben]) {
        await put(alive, caller, NAME, 30);
        assert.equal(await sizeFor(alive, caller), 30);
        assert.equal(((await used(caller)) as { bytes: number }).bytes, 30);
      }
    });
  }

  test("an upload of the operator that is killed or fails is never open to other callers", async () => {
    const local: Caller = { subject: "local", scopes: new Set(["write"]) };
    const name = `feature_engine_${randomUUID()}.json`;
    const key = { name, space: "" };
    const [before, alive] = [await used(local), service()];
    await killed("put", "after", (blobs) => put(blobs, local, name, 20));
    assert.equal((await fixture.store.stat(`data/${name}`))?.size, 20);
    assert.equal(await alive.find(local, name), undefined);
    assert.equal(await ownerOf(fixture.database.db, key), "local");
    // As a week later.
    await fixture.interruptAll();
    await fixture.sweep();
    assert.equal(await fixture.store.stat(`data/${name}`), undefined);
    const broken = service({ store: fixture.storeThat(() => ({ put: fail })) });
    await assert.rejects(put(broken, local, name, 20), isCode("output_failed"));
    assert.equal(await ownerOf(fixture.database.db, key), undefined);
    await killed("put", "before", (blobs) => put(blobs, local, name, 20));
    await put(alive, local, name, 30);
    assert.ok(await alive.find(local, name));
    assert.equal(await alive.remove(local, name), true);
    assert.deepEqual(await used(local), before ?? { bytes: 0, blobs: 0 });
  });

  test("an upload of the operator that is stored and not recorded stays reserved", async () => {
    const local: Caller = { subject: "local", scopes: new Set(["write"]) };
    const name = `feature_engine_${randomUUID()}.json`;
    const alive = service();
    const refusing = service({ store: fixture.storeThat(() => ({ stat: fail })) });
    const upload = (await refusing.beginUpload(local, name, 20))!;
    await upload.store.put(upload.key, "x".repeat(20));
    // As if its client, or the database, had failed before the record.
    await upload.close();
    assert.equal(await ownerOf(fixture.database.db, { name, space: "" }), "local");
    const other = (await alive.beginUpload(local, name, 30))!;
    await other.close();
    assert.equal(await ownerOf(fixture.database.db, { name, space: "" }), "local", "its bytes are there");
    await put(alive, local, name, 30);
    assert.equal(await alive.remove(local, name), true);
  });

  for (const when of ["before", "after"] as const) {
    test(`a removal that is killed ${when} the bytes are removed is finished, and no job names its blob`, async () => {
      const [alive, caller] = [service(), newCaller()];
      await put(alive, caller, NAME, 10);
      await killed("remove", when, (blobs) => blobs.remove(caller, NAME));
      assert.equal(await sizeFor(alive, caller), undefined);
      assert.equal((await submit(caller, NAME)).kind, "missing");
      await assert.rejects(alive.beginUpload(caller, NAME, 1), isCode("unavailable"));
      // As ten minutes later.
      await fixture.interruptAll();
      await fixture.sweep();
      assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
      await put(alive, caller, NAME, 20);
      assert.equal((await submit(caller, NAME)).kind, "created");
      await fixture.sweep();
      assert.equal(await sizeFor(alive, caller), 20);
    });
  }

  test("no sweep removes a blob that an operation names", async () => {
    const [alive, caller] = [service(), newCaller()];
    await put(alive, caller, NAME, 10);
    assert.equal((await submit(caller, NAME)).kind, "created");
    await assert.rejects(alive.remove(caller, NAME), isCode("blob_in_use"));
    await fixture.interruptAll();
    await fixture.sweep();
    assert.equal(await sizeFor(alive, caller), 10);
  });
});
