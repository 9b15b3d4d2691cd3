import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openStore } from "../../blob/open-store.ts";
import type { BlobStore } from "../../blob/store.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database } from "../database/database.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import type { Caller } from "../operations/operations.ts";
import { recordBlob } from "../store/blob-records.ts";
import { endOperation } from "../store/end-operation.ts";
import { webhookTypes } from "../store/events.ts";
import { insertOperation } from "../store/insert-operation.ts";
import { noLog } from "../telemetry/log.ts";
import { blobReconciliation } from "./blob-reconciliation.ts";
import { spaceOf } from "./blobs.ts";
import { StoredBlobs, type StoredBlobsParts } from "./stored-blobs.ts";

const NAME = "feature_engine_1.json";
const NONE = webhookTypes([]);
const never = new AbortController().signal;
const QUOTA = { bytes: 100, blobs: 5 };

/** One of its own for each test, as they share a database. */
function newCaller(): Caller {
  return { subject: `key:${randomBytes(8).toString("hex")}`, scopes: new Set(["read", "write"]) };
}

const isCode = (code: ErrorCode) => (error: unknown) => error instanceof MucastError && error.code === code;

onEachDatabase((tested) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-blobs-"));
  let database: Database;
  let store: BlobStore;
  const opened: StoredBlobs[] = [];
  before(async () => {
    database = tested.database();
    store = await openStore("", { policy: { allowed: [], mapped: [{ base: "", folder }] } });
  });
  after(() => {
    for (const blobs of opened) blobs.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function service(overrides: Partial<StoredBlobsParts> = {}): StoredBlobs {
    const parts = { database, store, settings: { auth: "keys" }, quota: QUOTA, log: noLog } as const;
    opened.push(new StoredBlobs({ ...parts, ...overrides }));
    return opened.at(-1)!;
  }

  async function put(blobs: StoredBlobs, caller: Caller, name: string, bytes: number): Promise<void> {
    const upload = (await blobs.begin(caller, name, bytes))!;
    await upload.store.put(upload.key, "x".repeat(bytes));
    await upload.finish(bytes);
  }

  async function used(caller: Caller): Promise<unknown> {
    const { rows } = await database.query(
      "select bytes::float8 as bytes, blobs::float8 as blobs from blob_usage where caller = $1",
      [caller.subject],
    );
    return rows[0];
  }

  /** The store, but for how it removes and looks. */
  function storeThat(
    remove: (key: string, own: BlobStore) => Promise<void>,
    stat = (key: string, own: BlobStore) => own.stat(key),
  ): BlobStore {
    const within = (space: string): BlobStore => {
      const own = store.within(space);
      return {
        url: own.url,
        within,
        stat: (key) => stat(key, own),
        read: (key, part) => own.read(key, part),
        put: (...write) => own.put(...write),
        create: (...write) => own.create(...write),
        remove: (key) => remove(key, own),
        close: () => own.close(),
      };
    };
    return within("");
  }

  /** A store whose removals begin, and end once they are let. */
  function slowStore() {
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = storeThat(async (key, own) => {
      reached.resolve();
      await gate.promise;
      await own.remove(key);
    });
    return { slow, reached: reached.promise, open: gate.resolve };
  }

  const keepUpNow = (blobs: StoredBlobs, alone = false) =>
    blobReconciliation({ database, store, log: noLog, ours: () => blobs.ongoing }, alone)(never);

  function operationOf(caller: Caller, feature: string) {
    const space = spaceOf(caller.subject);
    return {
      id: randomUUID(),
      caller: caller.subject,
      space,
      operation: "run_ml_job",
      featureUrl: `/${space}/data/${feature}`,
      dataExtractorUrl: "https://a.example/c/data/data_extractor_1.json",
      blobs: [{ name: feature, space }],
      idempotencyKey: undefined,
      traceparent: undefined,
      ...{ config: "{}", configSha256: "", bodySha256: "" },
    } as const;
  }

  const submit = (caller: Caller, feature: string) =>
    insertOperation(database, operationOf(caller, feature), { queued: 10, quota: QUOTA }, NONE);

  test("a blob is found in its caller's space, and by no other caller", async () => {
    const [blobs, ann, ben] = [service(), newCaller(), newCaller()];
    await put(blobs, ann, NAME, 3);
    const { store: own, key } = (await blobs.find(ann, NAME))!;
    assert.equal((await own.stat(key))?.size, 3);
    assert.equal((await store.within(spaceOf(ann.subject)).stat(`data/${NAME}`))?.size, 3);
    assert.equal(await blobs.find(ben, NAME), undefined);
    assert.equal(await blobs.remove(ben, NAME), false);
    assert.equal(await store.stat(`data/${NAME}`), undefined);
  });

  test("what was recorded before callers had spaces is found, replaced and removed where it lies", async () => {
    const [blobs, ann] = [service(), newCaller()];
    const name = `feature_engine_${randomUUID()}.json`;
    await store.put(`data/${name}`, "old");
    const record = { caller: ann.subject, name, space: "", bytes: null };
    await database.transaction((statements) => recordBlob(statements, record));
    const spot = (await blobs.find(ann, name))!;
    assert.equal((await spot.store.stat(spot.key))?.size, 3);
    const local: Caller = { subject: "local", scopes: new Set(["write"]) };
    for (const auth of ["keys", "none"] as const) {
      const other = service({ settings: { auth } });
      assert.equal(await other.place(local, name), undefined, "it is another's");
      assert.equal(await other.begin(local, name, 1), undefined);
      assert.equal(await other.find(local, name), undefined);
      assert.equal(await other.remove(local, name), false);
    }
    await keepUpNow(blobs);
    assert.deepEqual(await used(ann), { bytes: 3, blobs: 1 }, "its size is looked up");
    await put(blobs, ann, name, 5);
    assert.equal((await store.stat(`data/${name}`))?.size, 5);
    assert.equal(await blobs.remove(ann, name), true);
    assert.equal(await store.stat(`data/${name}`), undefined);
    assert.deepEqual(await used(ann), { bytes: 0, blobs: 0 });
  });

  test("the operator's own files are read and removed where there is one caller only", async () => {
    const name = `feature_engine_${randomUUID()}.json`;
    const local: Caller = { subject: "local", scopes: new Set(["write"]) };
    await store.put(`data/${name}`, "operator");
    assert.equal(await service().find(local, name), undefined);
    assert.equal(await service().place(local, name), undefined);
    assert.equal(await service().remove(local, name), false);
    const open = service({ settings: { auth: "none" } });
    assert.ok(await open.find(local, name));
    assert.ok(await open.place(local, name));
    assert.equal(await open.remove(local, name), true);
    assert.equal(await open.remove(local, name), false);
  });

  test("uploads at the same time, to two services, come to no more than the quota", async () => {
    const caller = newCaller();
    const [one, two] = [service(), service({ database: await tested.another().catch(() => database) })];
    const begun = await Promise.allSettled(
      Array.from({ length: 12 }, (_, i) => (i % 2 ? one : two).begin(caller, `feature_engine_${i}.json`, 30)),
    );
    const uploads = begun.flatMap((result) => (result.status === "fulfilled" ? [result.value!] : []));
    assert.equal(uploads.length, 3);
    for (const { status, ...rest } of begun) {
      if (status === "rejected") assert.ok(isCode("quota_exceeded")((rest as { reason: unknown }).reason));
    }
    await uploads[0]!.discard();
    await put(two, caller, "feature_engine_late.json", 30);
    for (const upload of uploads.slice(1)) {
      await upload.store.put(upload.key, "x".repeat(30));
      await upload.finish(30);
    }
    assert.deepEqual(await used(caller), { bytes: 90, blobs: 3 });
    await assert.rejects(put(one, caller, "data_extractor_1.json", 11), isCode("quota_exceeded"));
    await put(one, caller, "data_extractor_1.json", 10);
  });

  test("a blob that is replaced counts once, beside its new version while that comes", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await put(blobs, caller, NAME, 60);
    await assert.rejects(put(blobs, caller, NAME, 50), isCode("quota_exceeded"));
    await put(blobs, caller, NAME, 40);
    await put(blobs, caller, NAME, 20);
    assert.deepEqual(await used(caller), { bytes: 20, blobs: 1 });
  });

  test("blobs are counted too: one that is there already may be replaced", async () => {
    const [blobs, caller] = [service(), newCaller()];
    for (let i = 0; i < QUOTA.blobs; i++) await put(blobs, caller, `feature_engine_${i}.json`, 1);
    await assert.rejects(blobs.begin(caller, "feature_engine_more.json", 1), (error) => {
      assert.ok(isCode("quota_exceeded")(error));
      assert.match((error as Error).message, /5 blobs of 5 bytes.*\(stored_blobs_per_caller\)/);
      return true;
    });
    await put(blobs, caller, "feature_engine_0.json", 2);
    assert.equal(await blobs.remove(caller, "feature_engine_1.json"), true);
    await put(blobs, caller, "feature_engine_more.json", 1);
  });

  test("of uploads of one name at the same time the one that is stored counts, whichever is recorded last", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const [small, large] = [await blobs.begin(caller, NAME, 10), await blobs.begin(caller, NAME, 60)];
    await small!.store.put(small!.key, "x".repeat(10));
    await large!.store.put(large!.key, "x".repeat(60));
    await large!.finish(60);
    await small!.finish(10);
    assert.deepEqual(await used(caller), { bytes: 60, blobs: 1 });
  });

  test("an upload of unknown length takes room as it comes", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const upload = (await blobs.begin(caller, NAME, undefined))!;
    await upload.reach(40);
    await assert.rejects(put(blobs, caller, "data_extractor_1.json", 1), isCode("quota_exceeded"));
    await upload.reach(100);
    await assert.rejects(upload.reach(101), isCode("quota_exceeded"));
    await upload.discard();
    await put(blobs, caller, NAME, 100);
    await assert.rejects(blobs.begin(caller, NAME, 101), isCode("too_large"), "it would never fit");
  });

  test("an upload that broke off with its service is settled by what lies at its place", async () => {
    const [dead, caller] = [service(), newCaller()];
    await put(dead, caller, "feature_engine_old.json", 10);
    const replaced = (await dead.begin(caller, "feature_engine_old.json", 20))!;
    await replaced.store.put(replaced.key, "x".repeat(20));
    await dead.begin(caller, "feature_engine_none.json", 30);
    const published = (await dead.begin(caller, "feature_engine_new.json", 25))!;
    await published.store.put(published.key, "x".repeat(25));
    const alive = service();
    await keepUpNow(alive);
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 }, "it may still go on");
    await database.query("update blob_uploads set lease_until = now() - interval '1 s' where caller = $1", [
      caller.subject,
    ]);
    await keepUpNow(dead);
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 }, "a service knows its own");
    await keepUpNow(alive);
    assert.deepEqual(await used(caller), { bytes: 45, blobs: 2 });
    assert.ok(await alive.find(caller, "feature_engine_new.json"));
    await put(alive, caller, "feature_engine_none.json", 55);
  });

  test("a blob that a waiting or running operation names stays, until that has ended", async () => {
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
    await endOperation(database, submitted.row, ending, { events: 10, webhooks: NONE });
    assert.deepEqual(await used(caller), { bytes: 17, blobs: 2 });
    assert.equal(await blobs.remove(caller, NAME), true);
    assert.ok(await blobs.find(caller, record.output_name));
    assert.equal(await blobs.remove(caller, record.output_name), true);
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
  });

  test("of a removal and a submission at the same moment one is refused", async () => {
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

  test("a removal that the storage refused is done later, and the name is free then", async () => {
    const caller = newCaller();
    const blobs = service();
    await put(blobs, caller, NAME, 10);
    const failing = service({ store: storeThat(fail) });
    await assert.rejects(failing.remove(caller, NAME), isCode("storage_failed"));
    await assert.rejects(
      failing.remove(caller, NAME),
      isCode("storage_failed"),
      "it may be tried again at once",
    );
    assert.equal(await blobs.find(caller, NAME), undefined);
    await assert.rejects(blobs.begin(caller, NAME, 1), isCode("unavailable"));
    await database.query("update blobs set removed_at = now() - interval '1 h' where caller = $1", [
      caller.subject,
    ]);
    await keepUpNow(blobs);
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    await put(blobs, caller, NAME, 10);
  });

  test("a second removal, and an upload, wait for the removal that goes on, and come after it", async () => {
    const caller = newCaller();
    const { slow, reached, open } = slowStore();
    const first = service({ store: slow });
    const [waits, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let waiting = 0;
    const pause = () => {
      waiting++;
      if (waiting === 2) waits.resolve();
      return over.promise;
    };
    const second = service({ pause });
    await put(first, caller, NAME, 10);
    const removed = first.remove(caller, NAME);
    await reached;
    const [again, upload] = [second.remove(caller, NAME), second.begin(caller, NAME, 5)];
    await waits.promise;
    open();
    assert.equal(await removed, true);
    over.resolve();
    const begun = (await upload)!;
    await begun.store.put(begun.key, "x".repeat(5));
    await begun.finish(5);
    assert.equal(await again, false, "the first has removed it");
    assert.deepEqual(await used(caller), { bytes: 5, blobs: 1 });
    assert.equal(await second.remove(caller, NAME), true);
    assert.equal(await second.remove(caller, NAME), false);
  });

  test("removals of one name at the same time, by two services: one is done, and none is an error", async () => {
    const [one, two] = [service(), service({ database: await tested.another().catch(() => database) })];
    for (let round = 0; round < 5; round++) {
      const caller = newCaller();
      await put(one, caller, NAME, 10);
      const removed = await Promise.all([one, two, one, two].map((blobs) => blobs.remove(caller, NAME)));
      assert.deepEqual(removed.toSorted(), [false, false, false, true]);
      assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    }
  });

  test("a second removal tries what the storage has refused the first, and waits for one that hangs not for ever", async () => {
    const caller = newCaller();
    const { slow, reached, open } = slowStore();
    const first = service({ store: slow });
    let pauses = 0;
    const hasty = service({ pause: async () => void pauses++ });
    await put(first, caller, NAME, 10);
    const removed = first.remove(caller, NAME);
    await reached;
    await assert.rejects(hasty.remove(caller, NAME), isCode("unavailable"));
    assert.ok(pauses > 20, `${pauses}`);
    open();
    await removed;
    await put(first, caller, NAME, 10);
    const [tried, refusal] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const refusing = storeThat(async () => {
      tried.resolve();
      await refusal.promise;
      await fail();
    });
    const refused = service({ store: refusing }).remove(caller, NAME);
    await tried.promise;
    const waits = Promise.withResolvers<void>();
    const pause = async () => {
      waits.resolve();
      await refused.catch(() => undefined);
    };
    const second = service({ pause }).remove(caller, NAME);
    await waits.promise;
    refusal.resolve();
    await assert.rejects(refused, isCode("storage_failed"));
    assert.equal(await second, true);
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
  });

  test("a removal that broke off with its service is done at once by the next one, where that is alone", async () => {
    const caller = newCaller();
    const { slow, reached, open } = slowStore();
    const [dead, next] = [service({ store: slow }), service()];
    await put(dead, caller, NAME, 10);
    const broken = dead.remove(caller, NAME);
    await reached;
    await keepUpNow(next);
    await keepUpNow(dead, true);
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 }, "it may go on elsewhere, and it does here");
    await keepUpNow(next, true);
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    assert.equal(await store.within(spaceOf(caller.subject)).stat(`data/${NAME}`), undefined);
    await put(next, caller, "data_extractor_1.json", 100);
    open();
    await broken;
  });

  test("what the storage refuses of one blob keeps nothing else from being kept up", async () => {
    const caller = newCaller();
    const stuck = storeThat((key, own) => (key.endsWith("_0.json") ? fail() : own.remove(key)));
    const blobs = service({ store: stuck });
    const names = Array.from({ length: 3 }, (_, i) => `feature_engine_${i}.json`);
    for (const name of names) await put(blobs, caller, name, 10);
    await database.query("update blobs set removed_at = now() - interval '1 h' where caller = $1", [
      caller.subject,
    ]);
    await blobReconciliation({ database, store: stuck, log: noLog, ours: () => blobs.ongoing }, false)(never);
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 });
    await assert.rejects(blobs.begin(caller, names[0]!, 1), isCode("unavailable"));
    await put(blobs, caller, names[1]!, 10);
  });

  test("hundreds of blobs that the storage never tells of keep no other from being kept up", async () => {
    const caller = newCaller();
    const blobs = service();
    await database.query("insert into blob_usage (caller, blobs) values ($1, 303)", [caller.subject]);
    await database.query(
      `insert into blobs (caller, name, space, bytes, removed_at)
       select $1, k || '_' || i, $2, case k when 'b' then 1 end, case k when 'b' then timestamptz 'epoch' end
       from unnest(array['a', 'b']) as k, (select 'stuck-' || g from generate_series(1, 150) g union all select 'well') as of(i)`,
      [caller.subject, spaceOf(caller.subject)],
    );
    await database.query(
      `insert into blob_uploads (id, caller, name, space, bytes, lease_until)
       select 'a-' || $1 || i, $1, 'c_' || i, $2, 1, timestamptz 'epoch'
       from (select 'stuck-' || g from generate_series(1, 150) g union all select 'well') as of(i)`,
      [caller.subject, spaceOf(caller.subject)],
    );
    const stuck = storeThat(
      (key, own) => (key.includes("stuck") ? fail() : own.remove(key)),
      (key, own) => (key.includes("stuck") ? fail() : own.stat(key)),
    );
    await blobReconciliation({ database, store: stuck, log: noLog, ours: () => blobs.ongoing }, false)(never);
    const { rows } = await database.query(
      `select name from blobs where caller = $1 and name in ('a_well', 'b_well') and bytes is not null
       union all select name from blob_uploads where caller = $1 and name = 'c_well'`,
      [caller.subject],
    );
    assert.deepEqual(rows, [{ name: "a_well" }], "measured; the others are removed and settled");
    for (const table of ["blobs", "blob_uploads", "blob_usage"])
      await database.query(`delete from ${table} where caller = $1`, [caller.subject]);
  });

  test("a job is refused where its output would not fit", async () => {
    const [blobs, caller] = [service(), newCaller()];
    await put(blobs, caller, NAME, 100);
    assert.equal((await submit(caller, NAME)).kind, "over quota");
    await put(blobs, newCaller(), NAME, 100);
    assert.equal(await blobs.remove(caller, NAME), true);
    await put(blobs, caller, NAME, 99);
    for (let i = 1; i < QUOTA.blobs; i++) assert.equal((await submit(caller, NAME)).kind, "created");
    assert.equal((await submit(caller, NAME)).kind, "over quota", "outputs to come count");
  });

  test("jobs that are handed in at the same time, and uploads beside them, come to no more than the quota", async () => {
    for (let round = 0; round < 5; round++) {
      const [blobs, caller] = [service(), newCaller()];
      await put(blobs, caller, NAME, 1);
      const jobs = Array.from({ length: 8 }, () => submit(caller, NAME));
      const uploads = Array.from({ length: 4 }, (_, i) => blobs.begin(caller, `data_extractor_${i}.json`, 1));
      const [kinds, begun] = await Promise.all([Promise.all(jobs), Promise.allSettled(uploads)]);
      const taken = kinds.filter(({ kind }) => kind === "created").length;
      const reserved = begun.filter(({ status }) => status === "fulfilled").length;
      assert.equal(1 + taken + reserved, QUOTA.blobs);
    }
  });
});

function fail(): Promise<never> {
  return Promise.reject(new MucastError("output_failed", "no", {}, { cause: new Error("no right to it") }));
}
