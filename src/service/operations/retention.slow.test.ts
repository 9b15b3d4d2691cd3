import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import { statusKey } from "../../contract/output/job-events.ts";
import { newRow, onEachDatabase } from "../database/databases.testing.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { removeOldOperations } from "./retention.ts";

/** More than one batch. */
const KEPT = 120;

onEachDatabase((tested) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-retention-"));
  after(() => rmSync(folder, { recursive: true, force: true }));

  test("retention removes old operations with their status blobs, except those whose status blobs the storage refuses to remove", async (t) => {
    const database = tested.database();
    const store = new FolderStore(folder, "");
    for (const [prefix, days, count] of [
      ["kept-", 40, KEPT],
      ["old-", 35, 2],
      ["young-", 5, 1],
    ] as const) {
      const ended = {
        status: "Failed",
        attempt: 1,
        finished_at: new Date(Date.now() - days * 86_400_000),
      } as const;
      const rows = Array.from({ length: count }, (_, n) => ({
        ...newRow(`${prefix}${n}`, "local"),
        ...ended,
      }));
      await database.write((db) => db.insertInto("operations").values(rows).execute());
      for (const { id } of rows) await store.put(statusKey(id, 1), "{}");
    }
    const { remove } = FolderStore.prototype;
    t.mock.method(FolderStore.prototype, "remove", function (this: FolderStore, key: string) {
      return key.includes("kept-") ? Promise.reject(new Error("refused")) : remove.call(this, key);
    });
    const { signal } = new AbortController();
    await removeOldOperations({ database, store, days: 30, log: noLog }, signal);
    const rows = await database.db.selectFrom("operations").select("id").execute();
    const kinds = Object.groupBy(rows, ({ id }) => id.split("-")[0]!);
    assert.deepEqual([rows.length, kinds.kept?.length, kinds.young?.length], [KEPT + 1, KEPT, 1]);
    assert.equal(await store.stat(statusKey("old-0", 1)), undefined);
    assert.ok(await store.stat(statusKey("young-0", 1)));
  });
});
