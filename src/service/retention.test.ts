import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FolderStore } from "../blob/folder-store.ts";
import { statusKey } from "../contract/status-blob.ts";
import { onEachDatabase } from "./database/databases.testing.ts";
import { removeAll } from "./retention.ts";
import { insertOperation } from "./store/insert-operation.ts";
import { webhookTypes } from "./store/webhook-types.ts";
import { noLog } from "./telemetry/log.ts";

const never = new AbortController().signal;

onEachDatabase((tested) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-retention-"));
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function ended(id: string, days: number): Promise<void> {
    const asked = { id, caller: "local", idempotencyKey: undefined, traceparent: undefined };
    const job = { operation: "run_ml_job", config: "{}", configSha256: "", bodySha256: "" } as const;
    const places = { featureUrl: "", dataExtractorUrl: "", space: "", blobs: [] };
    const allowance = { queued: 10, quota: { bytes: 1_000, blobs: 10 } };
    await insertOperation(tested.database(), { ...asked, ...job, ...places }, allowance, webhookTypes([]));
    await tested
      .database()
      .query(
        "update operations set status = 'Failed', attempt = 1, finished_at = now() - make_interval(days => $2) where id = $1",
        [id, days],
      );
  }

  test("old operations go with their status blobs, but for one whose status blob the storage keeps", async (t) => {
    const store = new FolderStore(folder, "");
    for (const [id, days] of [
      ["kept-by-storage", 40],
      ["old", 35],
      ["young", 5],
    ] as const) {
      await ended(id, days);
      await store.put(statusKey(id, 1), "{}");
    }
    const { remove } = FolderStore.prototype;
    t.mock.method(FolderStore.prototype, "remove", function (this: FolderStore, key: string) {
      if (key.includes("kept-by-storage")) return Promise.reject(new Error("refused"));
      return remove.call(this, key);
    });
    await removeAll({ database: tested.database(), store, days: 30, log: noLog }, never);
    const { rows } = await tested.database().query<{ id: string }>("select id from operations order by id");
    assert.deepEqual(
      rows.map(({ id }) => id),
      ["kept-by-storage", "young"],
    );
    assert.equal(await store.stat(statusKey("old", 1)), undefined);
    assert.ok(await store.stat(statusKey("young", 1)));
  });
});
