/** What every kind of store promises: the same tests for a folder, a container of Azure and a bucket of S3. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { inspect } from "node:util";
import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import type { JobStore } from "./store.ts";

/** No error of a storage may show one of these. */
const SECRETS = /sig=(?!…)|AccountKey|SharedKey|Bearer|AWS4-HMAC|X-Amz-|SecretAccessKey/i;

/** Checks that the error does not disclose a secret. */
export async function failure(code: ErrorCode, attempt: Promise<unknown>): Promise<MucastError> {
  const error = await attempt.then(() => assert.fail("nothing was thrown")).catch((error: unknown) => error);
  assert.ok(error instanceof MucastError, inspect(error));
  assert.equal(error.code, code, error.message);
  assert.doesNotMatch(inspect(error, { depth: 20, showHidden: true }), SECRETS);
  return error;
}

export async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** More than two blocks of an upload, to Azure and to S3, and many ranges of a store that reads 1,000,000 bytes at a time. */
export const LARGE = randomBytes(17 * 2 ** 20 + 5);

/** @param opened a store without blobs, once `before` has run. */
export function testPromises(kind: string, opened: () => JobStore): void {
  test(`${kind}: reads back what was written, whole and in part, with its size and version`, async () => {
    const store = opened();
    for (const [name, content] of [
      ["data/small.json", Buffer.from("[1]")],
      ["data/empty.json", Buffer.alloc(0)],
      ["data/large.json", LARGE],
    ] as const) {
      const { etag } = await store.create(name, content);
      assert.match(etag, /^"[^"]+"$/);
      assert.deepEqual(await store.stat(name), { size: content.length, etag });
      assert.ok((await bytesOf(store.read(name))).equals(content));
      assert.ok((await bytesOf(store.read(name, { etag }))).equals(content));
    }
    const part = { start: 999_990, end: 2_000_010 };
    assert.ok(
      (await bytesOf(store.read("data/large.json", part))).equals(LARGE.subarray(999_990, 2_000_010)),
    );
    assert.ok((await bytesOf(store.read("data/large.json", { start: 17e6 }))).equals(LARGE.subarray(17e6)));
    const { size, chunks } = await store.open("data/large.json");
    assert.equal(size, LARGE.length);
    assert.ok((await bytesOf(chunks)).equals(LARGE));
  });

  test(`${kind}: a space has its own blobs of the same names`, async () => {
    const store = opened();
    const [one, two] = ["key-0123456789abcdef", `sub-${"0".repeat(64)}`].map((space) => store.within(space));
    const name = "data/feature_engine_space.json";
    await store.put(name, "whole");
    await one!.put(name, "one");
    assert.equal(await two!.stat(name), undefined);
    await two!.create(name, "two");
    assert.equal((await bytesOf(one!.read(name))).toString(), "one");
    await one!.remove(name);
    assert.equal(await one!.stat(name), undefined);
    assert.equal((await bytesOf(store.read(name))).toString(), "whole");
    await one!.close();
    assert.equal((await two!.stat(name))?.size, 3, "it is closed with the whole");
    assert.throws(() => store.within(".."), /is not the space of a caller/);
  });

  test(`${kind}: never creates an existing blob again; exactly one of many writers wins`, async () => {
    const store = opened();
    for (const [name, size] of [
      ["data/one.json", 1000],
      ["data/blocks.json", 5 * 2 ** 20],
    ] as const) {
      const contents = Array.from({ length: 6 }, () => randomBytes(size));
      const tries = await Promise.allSettled(contents.map((content) => store.create(name, content)));
      const winners = tries.flatMap(({ status }, i) => (status === "fulfilled" ? [i] : []));
      assert.equal(winners.length, 1);
      assert.ok((await bytesOf(store.read(name))).equals(contents[winners[0]!]!));
      assert.match((await failure("output_failed", store.create(name, "late"))).message, /exists already/);
      assert.match((await failure("output_failed", store.checkNew(name))).message, /exists already/);
    }
    await store.checkNew("data/free.json");
  });

  test(`${kind}: put writes or replaces, reports which, and other bytes get another tag`, async () => {
    const store = opened();
    const first = await store.put("status/a.1.json", "1");
    const second = await store.put("status/a.1.json", "2");
    assert.deepEqual([first.created, second.created], [true, false]);
    assert.notEqual(first.etag, second.etag);
    const stale = bytesOf(store.read("status/a.1.json", { etag: first.etag }));
    assert.match((await failure("blob_unavailable", stale)).message, /changed/);
  });

  test(`${kind}: content that fails, is cancelled, or is too large leaves nothing visible`, async () => {
    const store = opened();
    async function* failing() {
      yield LARGE;
      throw new MucastError("invalid_data", "the content broke");
    }
    await failure("invalid_data", store.create("data/broken.json", failing()));
    const abort = new AbortController();
    async function* aborting() {
      yield LARGE;
      abort.abort();
      yield LARGE;
    }
    await failure("canceled", store.create("data/broken.json", aborting(), { signal: abort.signal }));
    await failure("too_large", store.create("data/broken.json", LARGE, { limit: LARGE.length - 1 }));
    assert.equal(await store.stat("data/broken.json"), undefined);
    await store.put("data/broken.json", "old");
    await failure("too_large", store.put("data/broken.json", LARGE, { limit: 10 }));
    assert.equal((await bytesOf(store.read("data/broken.json"))).toString(), "old");
    await store.put("data/broken.json", LARGE, { limit: LARGE.length });
  });

  test(`${kind}: lists the blobs of the storage and of its spaces, and nothing else`, async () => {
    const store = opened();
    const space = "key-00000000000000f0";
    await store.put("data/listed.json", "123");
    await store.within(space).put("data/listed.json", "12345");
    await store.within(space).put("status/listed.1.json", "1");
    const listed: (string | number)[][] = [];
    for await (const blob of store.list()) {
      assert.ok(Math.abs(blob.modifiedAt.getTime() - Date.now()) < 86_400_000, String(blob.modifiedAt));
      if (blob.key.includes("listed")) listed.push([blob.space, blob.key, blob.size]);
    }
    assert.deepEqual(listed.toSorted(), [
      ["", "data/listed.json", 3],
      [space, "data/listed.json", 5],
      [space, "status/listed.1.json", 1],
    ]);
  });

  test(`${kind}: a missing blob is blob_not_found, and removing it is harmless`, async () => {
    const store = opened();
    assert.equal(await store.stat("data/none.json"), undefined);
    await failure("blob_not_found", bytesOf(store.read("data/none.json")));
    await failure("blob_not_found", store.open("data/none.json"));
    await store.remove("data/none.json");
    await store.put("data/gone.json", "x");
    await store.remove("data/gone.json");
    assert.equal(await store.stat("data/gone.json"), undefined);
  });
}
