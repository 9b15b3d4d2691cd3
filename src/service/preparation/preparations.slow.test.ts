import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { settingsSchema } from "../../contract/settings.ts";
import type { Caller } from "../auth/caller.ts";
import { blobFixture, fail, isCode, newCaller } from "../blobs/blob-fixture.testing.ts";
import type { StoredBlobs } from "../blobs/blobs.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import type { PreparedFiles } from "../request-process/prepare-request.ts";
import type { PrepareOrder } from "../request-process/request-processes.ts";
import { Preparations } from "./preparations.ts";

const SETTINGS = { ...settingsSchema.parse({}), prepare_bytes: 100 };
const NAMES = ["data_extractor_1.json", "feature_engine_1.json"] as const;
/** A fake process makes both blobs of the body. */
const BODY = "Date,A";
const BYTES = 2 * BODY.length;
const NEVER = new AbortController().signal;

const orders: PrepareOrder[] = [];

async function runFake(order: PrepareOrder): Promise<Buffer> {
  orders.push(order);
  const [prices, features] = NAMES.map((name) => {
    const path = join(order.folder, name);
    const body = readFileSync(order.body);
    writeFileSync(path, body);
    return { name, path, bytes: body.length, sha256: createHash("sha256").update(body).digest("hex") };
  });
  const files = { prices: prices!, features: features! };
  const lists = { features: ["mom_1"], tickers: ["A"], tickerCount: 2, warnings: [], warningCount: 0 };
  const prepared: PreparedFiles = {
    ...{ id: "1", start: "2024-01-02", end: "2024-01-15", dates: 10 },
    ...{ files, ...lists },
  };
  return Buffer.from(JSON.stringify(prepared));
}

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, put, used, sizeOf } = fixture;

  function prepare(
    blobs: StoredBlobs,
    caller: Caller,
    { settings = {}, run = runFake, bytes = Readable.from([Buffer.from(BODY)]), signal = NEVER } = {},
  ) {
    const preparations = new Preparations({ blobs, run, settings: { ...SETTINGS, ...settings } });
    return preparations.prepare(caller, { bytes, multipartType: undefined }, {}, signal);
  }

  async function sizes(caller: Caller) {
    return Promise.all(NAMES.map((name) => sizeOf(service(), caller, name)));
  }

  test("both blobs are stored and recorded, once, and the folder is gone", async () => {
    const caller = newCaller();
    const prepared = await prepare(service(), caller);
    assert.deepEqual([prepared.written, prepared.storeUrl], [true, fixture.store.url]);
    assert.deepEqual(await sizes(caller), [BODY.length, BODY.length]);
    const { blobs } = await service().list(caller, { limit: 2 });
    const contents = { ticker_count: 2, dates: 10, start: "2024-01-02", end: "2024-01-15" };
    assert.deepEqual(
      blobs.map((blob) => blob.contents),
      [contents, contents],
    );
    const full = service({ quota: { bytes: BYTES - 1, blobs: 1 } });
    assert.equal((await prepare(full, caller)).written, false, "they need no room");
    assert.deepEqual(await used(caller), { bytes: BYTES, blobs: 2 });
    for (const { folder } of orders) assert.equal(existsSync(folder), false);
  });

  test("if the second blob cannot be stored, the first stays, and the same request stores the rest", async () => {
    const caller = newCaller();
    const refusesSecond = fixture.storeThat((own) => ({
      create: (key, ...write) => (key.includes("feature") ? fail() : own.create(key, ...write)),
    }));
    await assert.rejects(prepare(service({ store: refusesSecond }), caller), isCode("storage_failed"));
    assert.deepEqual(await used(caller), { bytes: BODY.length, blobs: 1 });
    assert.equal((await prepare(service(), caller)).written, true);
    assert.deepEqual(await sizes(caller), [BODY.length, BODY.length]);
    assert.deepEqual(await used(caller), { bytes: BYTES, blobs: 2 });
  });

  test("bytes that are there without a record, as after a kill between the two steps, are recorded", async () => {
    const caller = newCaller();
    const { store, key } = (await service().uploadAddress(caller, NAMES[1]))!;
    await store.put(key, BODY);
    assert.equal((await prepare(service(), caller)).written, true);
    assert.deepEqual(await used(caller), { bytes: BYTES, blobs: 2 });
  });

  test("nothing is stored without room for both, or if a blob of their names has other bytes", async () => {
    const [caller, other] = [newCaller(), newCaller()];
    for (const [quota, setting] of [
      [{ bytes: BYTES - 1, blobs: 5 }, /stored_bytes_per_caller/],
      [{ bytes: BYTES, blobs: 1 }, /stored_blobs_per_caller/],
    ] as const)
      await assert.rejects(prepare(service({ quota }), caller), { code: "quota_exceeded", message: setting });
    await put(service(), other, NAMES[1], 1);
    await assert.rejects(prepare(service(), other), isCode("precondition_failed"));
    for (const one of [caller, other]) assert.equal((await sizes(one))[0], undefined);
  });

  test("a body that is too large or too slow, or whose caller leaves, is refused, and its rest is read and dropped", async () => {
    const caller = newCaller();
    const run = () => assert.fail("it was prepared");
    for (const [pieces, changes, code] of [
      [[BODY, "x".repeat(200), "x"], {}, "too_large"],
      [[BODY], { settings: { request_seconds: 0.001 } }, "timed_out"],
      [[BODY], { signal: AbortSignal.abort() }, "canceled"],
    ] as const) {
      const bytes = new Readable({ read: () => undefined });
      for (const piece of pieces) bytes.push(piece);
      await assert.rejects(prepare(service(), caller, { run, bytes, ...changes }), isCode(code));
      for (let i = 0; i < 3; i++) bytes.push("x".repeat(100_000));
      bytes.push(null);
      await new Promise((resolve) => bytes.once("end", resolve));
    }
    assert.equal(await used(caller), undefined);
  });
});
