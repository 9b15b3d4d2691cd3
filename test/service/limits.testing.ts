import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { problemOf } from "./api.testing.ts";
import type { Core } from "./core.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { FEATURES, payload } from "./inputs.testing.ts";

/** Limits that need jobs or the process of a service; the tests of the routes have the others. */
export function limits(core: () => Core): void {
  describe("limits", () => {
    test("of queued operations: rate_limited with Retry-After, until some have ended", async () => {
      const { api } = core();
      const held = await core().heldRunning();
      await eventuallyTrue(
        "nothing waits",
        async () => (await api.list("?status=NotStarted")).operations.length === 0,
      );
      const waiting = [];
      for (let i = 0; i < 12; i++) waiting.push(await api.submit(core().own()));
      const refused = await api.post("run_ml_job", core().own());
      problemOf(refused, 429, "rate_limited");
      assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      for (const { id } of waiting.slice(0, 10)) await api.cancel(id);
      await api.submit(core().own());
      held.release();
      for (const { id } of waiting.slice(10)) assert.equal((await api.ended(id)).status, "Succeeded");
    });

    test("of the tickers of a blob, even if a job process reads it", async () => {
      const { api, storage } = core();
      storage.put("feature_engine_many.json", FEATURES);
      const prices = Array.from({ length: 51 }, (_, i) => [`T${i}`, { dates: [], close: [] }]);
      storage.put("data_extractor_many.json", JSON.stringify(Object.fromEntries(prices)));
      const { id } = await api.submit(payload(storage.url, "many"));
      const { error } = await api.ended(id);
      assert.deepEqual([error?.code, error?.ticker], ["too_large", "T50"]);
      assert.match(error!.detail, /one more than the 50 tickers .*MUCAST_BLOB_TICKERS/);
    });
  });
}
