import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { onEachDatabase } from "../database/databases.testing.ts";
import { claimOperation, recordStart } from "./claim-operation.ts";
import { releaseOperation } from "./end-operation.ts";
import { readEvents, webhookTypes } from "./events.ts";
import { type Inserted, insertOperation } from "./insert-operation.ts";
import { readOperation } from "./operation-rows.ts";

const NONE = webhookTypes([]);

onEachDatabase((tested) => {
  /** Submits a job under the key `one`. */
  function insert(id: string): Promise<Inserted> {
    const urls = { featureUrl: "", dataExtractorUrl: "" };
    const job = {
      operation: "run_ml_job",
      options: {},
      config: "{}",
      model: undefined,
      configSha256: "",
      bodySha256: "",
      payload: "{}",
    } as const;
    const asked = { id, caller: "local", idempotencyKey: "one", traceparent: undefined };
    const stored = { space: "", blobs: [] };
    const allowance = { queued: 10, quota: { bytes: 1_000, blobs: 10 } };
    return insertOperation(tested.database(), { ...asked, ...job, ...urls, ...stored }, allowance, NONE);
  }

  beforeEach(async () => {
    await tested.database().exec("truncate operations cascade");
    await insert("op");
  });

  if (tested.kind === "postgres")
    test("a submission does not wait for a transaction that ends the operation of its key, which waits for the caller's usage", async () => {
      await tested.database().transaction(async (ending) => {
        await ending.query("update operations set status = 'Canceled', finished_at = now() where id = 'op'");
        const again = await insert("another");
        assert.deepEqual([again.kind, "row" in again && again.row.id], ["exists", "op"]);
      });
    });

  test("a refusal that is stored twice changes no later attempt", async () => {
    const database = tested.database();
    const first = (await claimOperation(database, "first"))!;
    assert.equal(await releaseOperation(database, first, "refused", 0), true);
    const second = (await claimOperation(database, "second"))!;
    assert.equal(second.attempt, first.attempt + 1);
    assert.equal(await releaseOperation(database, first, "refused", 0), false);
    const { status, owner } = (await readOperation(database, "op"))!;
    assert.deepEqual([status, owner], ["Running", "second"]);
  });

  test("an attempt has one event for its start, however often the start is stored", async () => {
    const database = tested.database();
    const row = (await claimOperation(database, "first"))!;
    assert.equal(await recordStart(database, row, "1-2", NONE), true);
    assert.equal(await recordStart(database, row, "1-2", NONE), false);
    const events = await readEvents(database, "op", 0, { events: 10, bytes: 2 ** 20 });
    assert.deepEqual(
      events.map(({ type }) => type),
      ["queued", "started"],
    );
  });
});
