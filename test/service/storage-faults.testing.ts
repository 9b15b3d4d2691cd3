/** Storage that fails in realistic ways: the operation ends Failed and says why. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { OperationView } from "../../src/contract/api/operation-view.ts";
import type { Core } from "./core.testing.ts";
import { FEATURES, PRICES, payload } from "./inputs.testing.ts";
import type { Behaviour } from "./storage.testing.ts";

export function storageFaults(core: () => Core): void {
  describe("storage", () => {
    function assertFailed(ended: OperationView, code: string): void {
      assert.deepEqual([ended.status, ended.error?.code, ended.result], ["Failed", code, null]);
      const data = join(core().serving.dataDir, "blobs/data");
      assert.deepEqual(
        readdirSync(data).filter((name) => name.includes(ended.id)),
        [],
      );
    }

    const cut = Math.floor(FEATURES.length / 2);
    const faults: readonly (readonly [string, Behaviour, string])[] = [
      ["that answers 503 again and again", { kind: "status", status: 503 }, "blob_unavailable"],
      ["that has no such blob", { kind: "status", status: 404 }, "blob_not_found"],
      ["whose blob changes between two ranges", { kind: "replace", after: cut }, "blob_unavailable"],
    ];
    for (const [i, [what, behaviour, code]] of faults.entries()) {
      test(`${what} fails the operation with ${code}`, async () => {
        const { api, storage } = core();
        storage.put(`data_extractor_fault${i}.json`, PRICES);
        storage.put(`feature_engine_fault${i}.json`, FEATURES, behaviour);
        const { id } = await api.submit(payload(storage.url, `fault${i}`));
        const ended = await api.ended(id);
        assertFailed(ended, code);
        assert.match(String(ended.error!.source), new RegExp(`feature_engine_fault${i}\\.json$`));
      });
    }

    test("that stalls keeps the job Running, and cancel still stops it", async () => {
      const { api, storage } = core();
      storage.put("data_extractor_stall.json", PRICES);
      storage.put("feature_engine_stall.json", FEATURES, { kind: "stall", after: 1_000 });
      const { id } = await api.submit(payload(storage.url, "stall"));
      await storage.untilRequested("feature_engine_stall.json");
      await api.cancel(id);
      assert.equal((await api.ended(id)).status, "Canceled");
    });
  });
}
