import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import { statusKey } from "../../contract/output/status-blob.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import { noLog } from "../telemetry/log.ts";
import { retentionSweep } from "./retention.ts";

/** More than one batch. */
const KEPT = 120;
const never = new AbortController().signal;

onEachDatabase((tested) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-retention-"));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Stores operations that ended so many days ago, each with a status blob. */
  async function ended(store: FolderStore, prefix: string, days: number, count = 1): Promise<void> {
    const { rows } = await tested.database().query<{ id: string }>(
      `insert into operations (id, caller, operation, feature_url, data_extractor_url, config, config_sha256, body_sha256,
         status, attempt, finished_at)
       select $1 || n, 'local', 'run_ml_job', '', '', '{}', '', '', 'Failed', 1, now() - make_interval(days => $2)
       from generate_series(1, $3::int) n returning id`,
      [prefix, days, count],
    );
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
    const { rows } = await tested
      .database()
      .query(
        "select split_part(id, '-', 1) as kind, count(*)::int as n from operations group by 1 order by 1",
      );
    assert.deepEqual(rows, [
      { kind: "kept", n: KEPT },
      { kind: "young", n: 1 },
    ]);
    assert.equal(await store.stat(statusKey("old-1", 1)), undefined);
    assert.ok(await store.stat(statusKey("young-1", 1)));
  });
});
