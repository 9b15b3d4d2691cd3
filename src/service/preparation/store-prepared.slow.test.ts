import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Caller } from "../auth/caller.ts";
import { blobFixture, fail, isCode, newCaller } from "../blobs/blob-fixture.testing.ts";
import type { StoredBlobs } from "../blobs/stored-blobs.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import { storePrepared } from "./store-prepared.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-prepared-"));
after(() => rmSync(folder, { recursive: true }));

const FILES = ["data_extractor_1.json", "feature_engine_1.json"].map((name) => {
  const path = join(folder, name);
  writeFileSync(path, name);
  return { name, path, bytes: name.length, sha256: createHash("sha256").update(name).digest("hex") };
});

const CONTENTS = { ticker_count: 2, dates: 10, start: "2024-01-02", end: "2024-01-15" };

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, put, used } = fixture;

  const store = (blobs: StoredBlobs, caller: Caller, { signal } = new AbortController()) =>
    storePrepared({ blobs, caller, contents: CONTENTS, signal }, FILES);

  /** A service whose storage refuses the second blob. */
  const refusesSecond = () =>
    service({
      store: fixture.storeThat((own) => ({
        create: (key, ...write) => (key.includes("feature") ? fail() : own.create(key, ...write)),
      })),
    });

  async function hasBoth(blobs: StoredBlobs, caller: Caller): Promise<boolean> {
    const sizes = await Promise.all(
      FILES.map(async ({ name }) => {
        const found = await blobs.find(caller, name);
        return found && (await found.store.stat(found.key))?.size;
      }),
    );
    return sizes.every((size, index) => size === FILES[index]!.bytes);
  }

  const bytes = FILES[0]!.bytes + FILES[1]!.bytes;

  test("where the second blob cannot be stored, the first stays, and the same request stores the rest", async () => {
    const caller = newCaller();
    await assert.rejects(store(refusesSecond(), caller), isCode("storage_failed"));
    assert.deepEqual(await used(caller), { bytes: FILES[0]!.bytes, blobs: 1 });
    assert.equal((await store(service(), caller)).written, true);
    assert.ok(await hasBoth(service(), caller));
    assert.deepEqual(await used(caller), { bytes, blobs: 2 });
  });

  test("nothing is stored without room for both, or if a blob of their names has other bytes", async () => {
    const [caller, other] = [newCaller(), newCaller()];
    for (const [quota, setting] of [
      [{ bytes: bytes - 1, blobs: 5 }, /stored_bytes_per_caller/],
      [{ bytes, blobs: 1 }, /stored_blobs_per_caller/],
    ] as const)
      await assert.rejects(store(service({ quota }), caller), { code: "quota_exceeded", message: setting });
    await put(service(), other, FILES[1]!.name, 1);
    await assert.rejects(store(service(), other), isCode("precondition_failed"));
    for (const one of [caller, other]) assert.equal(await service().find(one, FILES[0]!.name), undefined);
  });

  test("blobs that are there need no room", async () => {
    const caller = newCaller();
    await store(service(), caller);
    const full = service({ quota: { bytes: bytes - 1, blobs: 1 } });
    assert.equal((await store(full, caller)).written, false);
    assert.deepEqual(await used(caller), { bytes, blobs: 2 });
  });

  test("two services that store the same files at the same time both succeed", async () => {
    const caller = newCaller();
    const written = await Promise.all([store(service(), caller), store(service(), caller)]);
    assert.ok(written.some((one) => one.written));
    assert.ok(await hasBoth(service(), caller));
    assert.deepEqual(await used(caller), { bytes, blobs: 2 });
  });
});
