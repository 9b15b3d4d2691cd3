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
import { storeTogether } from "./store-together.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-prepared-"));
after(() => rmSync(folder, { recursive: true }));

const FILES = ["data_extractor_1.json", "feature_engine_1.json"].map((name) => {
  const path = join(folder, name);
  writeFileSync(path, name);
  return { name, path, bytes: name.length, sha256: createHash("sha256").update(name).digest("hex") };
});

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, storeThat, used } = fixture;

  const store = (blobs: StoredBlobs, caller: Caller, { signal } = new AbortController()) =>
    storeTogether({ blobs, caller, signal }, FILES);

  /** A service whose storage holds the second blob back until the test lets it be written, or makes it fail. */
  function heldAtSecond() {
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<"written" | "refused">()];
    const held = storeThat(undefined, undefined, async (own, key, ...write) => {
      if (!key.includes("feature")) return own.create(key, ...write);
      reached.resolve();
      return (await gate.promise) === "written" ? own.create(key, ...write) : fail();
    });
    return { blobs: service({ store: held }), reached: reached.promise, let: gate.resolve };
  }

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

  test("if the second blob cannot be stored, the first is removed again", async () => {
    const [first, caller] = [heldAtSecond(), newCaller()];
    const storing = store(first.blobs, caller);
    await first.reached;
    first.let("refused");
    await assert.rejects(storing, isCode("storage_failed"));
    assert.equal(await first.blobs.find(caller, FILES[0]!.name), undefined);
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    assert.equal((await store(service(), caller)).written, true);
  });

  test("existing blobs need no space", async () => {
    const caller = newCaller();
    await store(service(), caller);
    const full = service({ quota: { bytes: bytes - 1, blobs: 1 } });
    assert.equal((await store(full, caller)).written, false);
    assert.deepEqual(await used(caller), { bytes, blobs: 2 });
  });

  test("a service that fails keeps the blob that another service has found and answered with", async () => {
    const [first, caller, request] = [heldAtSecond(), newCaller(), new AbortController()];
    const storing = store(first.blobs, caller, request);
    await first.reached;
    const other = service();
    await store(other, caller);
    request.abort();
    first.let("refused");
    await assert.rejects(storing, isCode("storage_failed"));
    assert.ok(await hasBoth(other, caller));
    assert.deepEqual(await used(caller), { bytes, blobs: 2 });
  });

  test("a service that fails keeps the blob that another service has found and still relies on", async () => {
    const [first, second, caller] = [heldAtSecond(), heldAtSecond(), newCaller()];
    const storing = store(first.blobs, caller);
    await first.reached;
    const others = store(second.blobs, caller);
    await second.reached;
    first.let("refused");
    await assert.rejects(storing, isCode("storage_failed"));
    second.let("written");
    await others;
    assert.ok(await hasBoth(second.blobs, caller));
    assert.deepEqual(await used(caller), { bytes, blobs: 2 });
  });

  test("a service that finds the first blob just before another one removes it stores it again", async () => {
    const [first, caller] = [heldAtSecond(), newCaller()];
    const storing = store(first.blobs, caller);
    await first.reached;
    const other = service();
    const begin = other.beginUpload.bind(other);
    let begun = 0;
    other.beginUpload = async (...upload) => {
      if (begun++ === 0) {
        first.let("refused");
        await assert.rejects(storing, isCode("storage_failed"));
      }
      return begin(...upload);
    };
    assert.equal((await store(other, caller)).written, true);
    assert.ok(await hasBoth(other, caller));
    assert.deepEqual(await used(caller), { bytes, blobs: 2 });
  });
});
