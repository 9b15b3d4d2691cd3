import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import { statusKey } from "../../contract/output/job-events.ts";
import { newRow, onEachDatabase } from "../database/databases.testing.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { retentionSweep } from "./retention.ts";

/** More than one batch. */
const KEPT = 120;
const never = new AbortController().signal;

onEachDatabase((tested) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-retention-"));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Stores operations that ended so many days ago, each with a status blob. */
  async function ended(store: FolderStore, prefix: string, days: number, count = 1): Promise<void> {
    const finished_at = new Date(Date.now() - days * 86_400_000);
    const rows = Array.from({ length: count }, (_, n) => ({
      ...newRow(`${prefix}${n + 1}`, "local"),
      ...({ status: "Failed", attempt: 1, finished_at } as const),
    }));
    await tested.database().write((db) => db.insertInto("operations").values(rows).execute());
    for (const { id } of rows) await store.put(statusKey(id, 1), "{}");
  }

  test("retention removes old operations with their status blobs, except those whose status blobs the storage refuses to remove", async (t) => {
    const store = new FolderStore(folder, "");
    await ended(store, "kept-", 40, KEPT);
    await ended(store, "old-", 35, 2);
    await ended(store, "young-", 5);
    const { remove } = FolderStore.prototype;
    t.mock.method(FolderStore.prototype, "remove", function (this: FolderStore, key: string) {
      if (key.includes("kept-")) return Promise.reject(new Error("refused"));
      return remove.call(this, key);
    });
    await retentionSweep({ database: tested.database(), store, days: 30, log: noLog })(never);
    const rows = await tested.database().db.selectFrom("operations").select("id").execute();
    const kinds = Object.groupBy(rows, ({ id }) => id.split("-")[0]!);
    assert.deepEqual([rows.length, kinds.kept?.length, kinds.young?.length], [KEPT + 1, KEPT, 1]);
    assert.equal(await store.stat(statusKey("old-1", 1)), undefined);
    assert.ok(await store.stat(statusKey("young-1", 1)));
  });
});
