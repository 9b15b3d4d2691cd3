import assert from "node:assert/strict";
import { test } from "node:test";
import { onEachDatabase } from "../database/databases.testing.ts";
import { canceledProblem } from "../queue/finish-attempt.ts";
import { endOperation } from "../store/end-operation.ts";
import { blobFixture, fail, isCode, NAME, NO_WEBHOOKS, newCaller } from "./blob-fixture.testing.ts";
import { spaceOf } from "./blobs.ts";

onEachDatabase((tested) => {
  const fixture = blobFixture(tested);
  const { service, put, used, storeThat, slowStore, reconcile, submit } = fixture;

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
    await endOperation(fixture.database, submitted.row, ending, { events: 10, webhooks: NO_WEBHOOKS });
    assert.deepEqual(await used(caller), { bytes: 17, blobs: 2 });
    assert.equal(await blobs.remove(caller, NAME), true);
    assert.ok(await blobs.find(caller, record.output_name));
    assert.equal(await blobs.remove(caller, record.output_name), true);
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
  });

  test("nor one that its options name, which are forgotten with the config at its end", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const earlier = "feature_engine_earlier.json";
    for (const name of [NAME, earlier]) await put(blobs, caller, name, 10);
    const previous_feature_url = `/${spaceOf(caller.subject)}/data/${earlier}`;
    const output_url = "https://a.example/c/data/ml_engine_1.json?sig=secret";
    const submitted = await submit(caller, NAME, { previous_feature_url, output_url, quick: true });
    assert.ok(submitted.kind === "created");
    assert.deepEqual(submitted.row.options, { previous_feature_url, output_url, quick: true });
    await assert.rejects(blobs.remove(caller, earlier), isCode("blob_in_use"));
    const ending = { status: "Canceled", problem: canceledProblem() } as const;
    const kept = { events: 10, webhooks: NO_WEBHOOKS };
    const ended = await endOperation(fixture.database, submitted.row, ending, kept);
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

  test("a removal that the storage refused is finished later, and the name is free then", async () => {
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
    await assert.rejects(blobs.beginUpload(caller, NAME, 1), isCode("unavailable"));
    await fixture.database.query("update blobs set removed_at = now() - interval '1 h' where caller = $1", [
      caller.subject,
    ]);
    await reconcile(blobs);
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    await put(blobs, caller, NAME, 10);
  });

  test("a second removal and an upload wait for the removal in progress", async () => {
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
    const [again, upload] = [second.remove(caller, NAME), second.beginUpload(caller, NAME, 5)];
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

  test("a second removal tries again where the first one failed, and does not wait for ever for one that hangs", async () => {
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

  test("a service that is alone finishes an interrupted removal at once", async () => {
    const caller = newCaller();
    const { slow, reached, open } = slowStore();
    const [dead, next] = [service({ store: slow }), service()];
    await put(dead, caller, NAME, 10);
    const broken = dead.remove(caller, NAME);
    await reached;
    await reconcile(next);
    await reconcile(dead, { alone: true });
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 }, "it may go on elsewhere, and it does here");
    await reconcile(next, { alone: true });
    assert.deepEqual(await used(caller), { bytes: 0, blobs: 0 });
    assert.equal(await fixture.store.within(spaceOf(caller.subject)).stat(`data/${NAME}`), undefined);
    await put(next, caller, "data_extractor_1.json", 100);
    open();
    await broken;
  });

  test("a name whose first upload goes on is in use", async () => {
    const [blobs, caller] = [service(), newCaller()];
    const upload = (await blobs.beginUpload(caller, NAME, 10))!;
    await assert.rejects(service().remove(caller, NAME), isCode("blob_in_use"));
    await upload.discard();
    assert.equal(await blobs.remove(caller, NAME), false);
  });

  test("an interrupted removal waits no longer because the database's clock was set back", async () => {
    const caller = newCaller();
    const blobs = service();
    await put(blobs, caller, NAME, 10);
    const failing = service({ store: storeThat(fail) });
    await assert.rejects(failing.remove(caller, NAME), isCode("storage_failed"));
    await fixture.database.query("update blobs set removed_at = now() + interval '1 day' where caller = $1", [
      caller.subject,
    ]);
    await reconcile(blobs);
    const { rows } = await fixture.database.query<{ begun: boolean }>(
      "select removed_at <= clock_timestamp() as begun from blobs where caller = $1",
      [caller.subject],
    );
    assert.deepEqual(rows, [{ begun: true }], "it counts as begun now, since it may go on");
  });

  test("a blob that the storage refuses holds up the reconciliation of no other", async () => {
    const caller = newCaller();
    const stuck = storeThat((key, own) => (key.endsWith("_0.json") ? fail() : own.remove(key)));
    const blobs = service({ store: stuck });
    const names = Array.from({ length: 3 }, (_, i) => `feature_engine_${i}.json`);
    for (const name of names) await put(blobs, caller, name, 10);
    await fixture.database.query("update blobs set removed_at = now() - interval '1 h' where caller = $1", [
      caller.subject,
    ]);
    await reconcile(blobs, { storage: stuck });
    assert.deepEqual(await used(caller), { bytes: 10, blobs: 1 });
    await assert.rejects(blobs.beginUpload(caller, names[0]!, 1), isCode("unavailable"));
    await put(blobs, caller, names[1]!, 10);
  });

  test("hundreds of blobs that the storage does not answer for hold up the reconciliation of no other", async () => {
    const caller = newCaller();
    const blobs = service();
    await fixture.database.query("insert into blob_usage (caller, blobs) values ($1, 303)", [caller.subject]);
    await fixture.database.query(
      `insert into blobs (caller, name, space, bytes, removed_at)
       select $1, k || '_' || i, $2, case k when 'b' then 1 end, case k when 'b' then timestamptz 'epoch' end
       from unnest(array['a', 'b']) as k, (select 'stuck-' || g from generate_series(1, 150) g union all select 'well') as of(i)`,
      [caller.subject, spaceOf(caller.subject)],
    );
    await fixture.database.query(
      `insert into blob_uploads (id, caller, name, space, bytes, lease_until)
       select 'a-' || $1 || i, $1, 'c_' || i, $2, 1, timestamptz 'epoch'
       from (select 'stuck-' || g from generate_series(1, 150) g union all select 'well') as of(i)`,
      [caller.subject, spaceOf(caller.subject)],
    );
    const stuck = storeThat(
      (key, own) => (key.includes("stuck") ? fail() : own.remove(key)),
      (key, own) => (key.includes("stuck") ? fail() : own.stat(key)),
    );
    await reconcile(blobs, { storage: stuck });
    const { rows } = await fixture.database.query(
      `select name from blobs where caller = $1 and name in ('a_well', 'b_well') and bytes is not null
       union all select name from blob_uploads where caller = $1 and name = 'c_well'`,
      [caller.subject],
    );
    assert.deepEqual(rows, [{ name: "a_well" }], "measured; the others are removed and settled");
    for (const table of ["blobs", "blob_uploads", "blob_usage"])
      await fixture.database.query(`delete from ${table} where caller = $1`, [caller.subject]);
  });
});
