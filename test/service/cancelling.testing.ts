import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { OperationView } from "../../src/contract/api/operation-view.ts";
import { collect } from "./api.testing.ts";
import type { Core } from "./core.testing.ts";

/** Stopping jobs, in every state. */
export function cancelling(core: () => Core): void {
  const outputOf = ({ id }: OperationView) =>
    join(core().serving.dataDir, "blobs/data", `ml_engine_${id}.json`);

  function assertCanceled(operation: OperationView): void {
    assert.deepEqual([operation.status, operation.error?.code], ["Canceled", "canceled"]);
    assert.ok(operation.finished_at !== null && operation.result === null);
    assert.ok(!existsSync(outputOf(operation)));
  }

  describe("cancel", () => {
    test("ends a running operation once its job has stopped, even if requested twice, and events report the request", async () => {
      const { api } = core();
      const { operation } = await core().heldRunning();
      for (let i = 0; i < 2; i++) {
        assert.match((await api.cancel(operation.id)).status, /^(Running|Canceled)$/);
      }
      const canceled = await api.ended(operation.id);
      assertCanceled(canceled);
      assert.deepEqual(await api.cancel(operation.id), canceled);
      const types = (await collect(await api.events(operation.id))).map(({ type }) => type);
      assert.deepEqual(
        types.filter((type) => type !== "progress"),
        ["queued", "started", "cancel_requested", "canceled"],
      );
    });

    test("racing with success ends completely in one of the two", async () => {
      const { api } = core();
      for (const stages of [/read|fit|evaluate|write/, /write/]) {
        const { operation, release } = await core().heldRunning();
        release();
        await api.once(
          operation.id,
          ({ status, progress }) => status !== "Running" || stages.test(progress?.stage ?? ""),
        );
        await api.cancel(operation.id);
        const ended = await api.ended(operation.id);
        if (ended.status === "Succeeded") {
          assert.equal((await api.ask("GET", ended.result!.output_url)).status, 200);
        } else {
          assertCanceled(ended);
        }
      }
    });
  });
}
