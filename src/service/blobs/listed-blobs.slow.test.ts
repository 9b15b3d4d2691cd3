import assert from "node:assert/strict";
import { test } from "node:test";
import type { BlobListQuery } from "../../contract/api/prepared-blobs.ts";
import type { Caller } from "../auth/caller.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import { recordBlob } from "../store/blobs.ts";
import { blobFixture, fail, isCode, NAME, newCaller } from "./blob-fixture.testing.ts";
import { type BlobUpload, spaceOf } from "./blobs.ts";
import type { StoredBlobs } from "./stored-blobs.ts";

const CONTENTS = { ticker_count: 2, dates: 10, start: "2024-01-02", end: "2024-01-15" };

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, put } = fixture;

  /** Stores a blob of 7 bytes as a preparation does. @param meanwhile between its bytes and its record. */
  async function prepared(
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

  test("a list has the blobs of its caller alone, newest first, with size, kind and contents", async () => {
    const [blobs, ann, ben] = [service(), newCaller(), newCaller()];
    await put(blobs, ann, "data_extractor_1.json", 5);
    await prepared(blobs, ann, "feature_engine_1.parquet");
    await put(blobs, ben, NAME, 3);
    const record = {
      caller: ann.subject,
      space: spaceOf(ann.subject),
      name: "ml_engine_1.json",
      bytes: null,
    };
    await fixture.database.write((db) => recordBlob(fixture.database, db, record));
    const { blobs: listed, cursor } = await blobs.list(ann, { limit: 20 });
    assert.equal(cursor, undefined);
    assert.deepEqual(
      listed.map(({ name, kind, bytes, contents }) => ({ name, kind, bytes, contents })),
      [
        { name: "ml_engine_1.json", kind: "output", bytes: null, contents: null },
        { name: "feature_engine_1.parquet", kind: "features", bytes: 7, contents: CONTENTS },
        { name: "data_extractor_1.json", kind: "prices", bytes: 5, contents: null },
      ],
    );
    assert.equal(listed[1]!.store.url, fixture.store.within(spaceOf(ann.subject)).url);
    assert.ok(listed.every(({ createdAt }, at) => at === 0 || createdAt <= listed[at - 1]!.createdAt));
    assert.deepEqual(await names(blobs, ann, { kind: "prices" }), ["data_extractor_1.json"]);
    assert.deepEqual(await names(blobs, ben), [NAME]);
    assert.deepEqual(await names(blobs, newCaller()), []);
  });

  test("a replaced blob comes first, and what was known of its contents is forgotten", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await prepared(blobs, caller, NAME);
    await put(blobs, caller, "feature_engine_2.json", 1);
    await put(blobs, caller, NAME, 7);
    const [first] = (await blobs.list(caller, { limit: 1 })).blobs;
    assert.deepEqual([first!.name, first!.contents], [NAME, null]);
  });

  for (const [size, bytes] of [
    ["another", "replaced it"],
    ["the same", "another"],
  ] as const)
    test(`an upload that one of ${size} size has replaced records no contents`, async () => {
      const [blobs, caller] = [service(), newCaller()];
      await prepared(blobs, caller, NAME, ({ store, key }) => store.put(key, bytes));
      const [only] = (await blobs.list(caller, { limit: 1 })).blobs;
      assert.deepEqual([only!.bytes, only!.contents], [bytes.length, null]);
    });

  test("a blob that is being removed is in no list", async () => {
    const caller = newCaller();
    const blobs = service();
    await put(blobs, caller, NAME, 1);
    const refusing = service({ store: fixture.storeThat(() => ({ remove: fail })) });
    await assert.rejects(refusing.remove(caller, NAME), isCode("storage_failed"));
    assert.deepEqual(await names(blobs, caller), []);
    assert.equal(await blobs.remove(caller, NAME), true);
  });

  test("pages have each blob once, also if blobs were stored at the same moment or are stored in between", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const expected = [1, 2, 3, 4, 5].map((id) => `feature_engine_${id}.json`).toReversed();
    for (const name of expected.toReversed()) await put(blobs, caller, name, 1);
    for (const [ids, time] of [
      [[1, 2], "2026-01-05T08:30:09.122Z"],
      [[3, 4, 5], "2026-01-05T08:30:09.123Z"],
    ] as const)
      await fixture.database.write((db) =>
        db
          .updateTable("blobs")
          .set({ created_at: new Date(time) })
          .where("caller", "=", caller.subject)
          .where(
            "name",
            "in",
            ids.map((id) => `feature_engine_${id}.json`),
          )
          .execute(),
      );
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await blobs.list(caller, { limit: 2, cursor });
      seen.push(...page.blobs.map(({ name }) => name));
      cursor = page.cursor;
      if (seen.length === 2) assert.equal(await blobs.remove(caller, "feature_engine_4.json"), true);
      if (seen.length === 2) await put(blobs, caller, "feature_engine_6.json", 1);
    } while (cursor !== undefined);
    assert.deepEqual(seen, expected);
  });

  test("a cursor that no list returned is refused, and one of another caller shows nothing of that caller", async () => {
    const [blobs, ann, ben] = [service(), newCaller(), newCaller()];
    for (const cursor of ["x", "", Buffer.from("12 a\u0000").toString("base64url"), "\u20ac"])
      await assert.rejects(blobs.list(ann, { limit: 1, cursor }), isCode("invalid_request"), cursor);
    for (const name of [NAME, "feature_engine_2.json"]) await put(blobs, ann, name, 1);
    const { cursor } = await blobs.list(ann, { limit: 1 });
    assert.deepEqual(await names(blobs, ben, { cursor: cursor! }), []);
    const last = Buffer.from(`${"9".repeat(13)} z`).toString("base64url");
    assert.equal((await names(blobs, ann, { cursor: last })).length, 2);
  });
});
