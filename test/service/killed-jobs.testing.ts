/** What happens to an operation when the processes that work for it are killed. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { collect } from "./api.testing.ts";
import type { Core } from "./core.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { ownerOf, stillRunning } from "./processes.testing.ts";
import { untilFolderIsUnused } from "./service.testing.ts";

/** The last suite of its service, which it ends. */
export function killedJobs(core: () => Core): void {
  describe("a killed process", () => {
    /** Kills the process that reads a held blob for its job. */
    async function killReader(key: string, times: number): Promise<void> {
      const name = `data_extractor_${key}.json`;
      await core().storage.untilRequested(name, times);
      const reader = ownerOf(core().storage.connection(name))!;
      assert.notEqual(reader.pid, core().serving.pid, "jobs run in processes of their own");
      process.kill(reader.pid, "SIGKILL");
      await eventuallyTrue("the reader ends", () => stillRunning([reader]).length === 0);
    }

    async function startedAttempts(id: string): Promise<number> {
      const events = await collect(await core().api.events(id));
      return events.filter(({ type }) => type === "started").length;
    }

    test("of a job, once: it is retried and succeeds", async () => {
      const { operation, key, release } = await core().heldJob();
      await killReader(key, 1);
      await core().storage.untilRequested(`data_extractor_${key}.json`, 2);
      release();
      const ended = await core().api.ended(operation.id);
      assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
      assert.equal(await startedAttempts(operation.id), 2);
    });

    test("of a job, twice: Failed, execution_lost, no output", async () => {
      const { operation, key } = await core().heldJob();
      await killReader(key, 1);
      await killReader(key, 2);
      const ended = await core().api.ended(operation.id);
      assert.deepEqual([ended.status, ended.error?.code], ["Failed", "execution_lost"]);
      const output = join(core().serving.dataDir, "blobs/data", `ml_engine_${operation.id}.json`);
      assert.ok(!existsSync(output));
    });

    test("leaves nothing behind once the service has ended", async () => {
      assert.deepEqual(await core().serving.terminate(), { code: 0, signal: null });
      await untilFolderIsUnused(core().serving.folder);
    });
  });
}
