import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { newFolder, removeFolders } from "../../../test/end-to-end/jobs/job-runs.ts";
import { IN_RELEASE_TIER } from "../../../test/whole-matrix.testing.ts";
import { memoryOf } from "../../engine/process-memory.ts";
import { RecordingListener } from "../executor-suite.testing.ts";
import {
  ENDLESS,
  executorIn,
  fittingIn,
  newSandbox,
  orderOf,
  outputsOf,
  pidOf,
  processesOf,
  QUICK,
  run,
  TINY,
  until,
  untilGone,
  withExecutor,
} from "./jobs.testing.ts";
import type { ProcessExecutor } from "./process-executor.ts";

after(removeFolders);

const options = {
  concurrency: 2,
  timeout: 600_000,
  skip: process.platform !== "linux" && "looks into /proc",
};

describe("a job in a process of its own", options, () => {
  test("reads and writes only in its caller's space, except for shared inputs", async () => {
    const base = "http://127.0.0.1:8080";
    const folder = await newFolder();
    const space = "key-0123456789abcdef";
    await mkdir(join(folder, "data"), { recursive: true });
    await mkdir(join(folder, space, "data"), { recursive: true });
    await copyFile(TINY.features, join(folder, space, "data", "feature_engine_tiny.json"));
    await copyFile(TINY.prices, join(folder, "data", "data_extractor_tiny.json"));
    const urls = {
      featureUrl: `${base}/data/feature_engine_tiny.json`,
      dataExtractorUrl: `${base}/data/data_extractor_tiny.json`,
    };
    await withExecutor(
      async (executor) => {
        const order = orderOf(TINY, QUICK, { ...urls, space });
        const closed = await (await executor.start(order, new RecordingListener())).ended;
        assert.equal(closed.kind === "failed" && closed.problem.code, "blob_not_found");
        const shared = orderOf(TINY, QUICK, { ...urls, space, shared: [urls.dataExtractorUrl] });
        const end = await (await executor.start(shared, new RecordingListener())).ended;
        assert.ok(end.kind === "succeeded", JSON.stringify(end));
        assert.equal(end.record.output_url, `${base}/data/${end.record.output_name}`);
        assert.ok(readdirSync(join(folder, space, "data")).includes(end.record.output_name));
        assert.deepEqual(readdirSync(folder).sort(), ["data", space]);
      },
      { blobUrl: base, policy: { allowed: [], mapped: [{ base, folder, root: folder }] } },
    );
  });

  test("whose work folder is removed meanwhile fails with a problem that names no folder", () =>
    withExecutor(async (executor, sandbox) => {
      const config = ENDLESS.replace("100000", "400").replace("10}", "6}");
      const execution = await executor.start(orderOf(TINY, config, { workers: 1 }), new RecordingListener());
      await until(() => fittingIn(sandbox)[0]);
      rmSync(sandbox.temporary, { recursive: true });
      const end = await execution.ended;
      mkdirSync(sandbox.temporary);
      assert.ok(end.kind === "failed", JSON.stringify(end));
      assert.equal(end.problem.code, "output_failed");
      assert.match(end.problem.detail, /the work folder of the job cannot be (read|written): /);
      assert.doesNotMatch(JSON.stringify(end.problem), /\/tmp|mucast-/);
    }));

  test("that exceeds its memory limit ends as out_of_memory, and the next one runs", async () => {
    const sandbox = await newSandbox();
    const executor = executorIn(sandbox, { memoryBytes: 32 * 2 ** 20 });
    try {
      const { end } = await run(executor, QUICK);
      assert.ok(end.kind === "failed", JSON.stringify(end));
      const { code, detail, limit_bytes, share_bytes } = end.problem;
      assert.deepEqual([code, limit_bytes, share_bytes], ["out_of_memory", 32 * 2 ** 20, 32 * 2 ** 20]);
      assert.match(detail, /held \d+ MiB of memory, over the limit of 32 MiB/);
    } finally {
      await executor.close();
    }
    assert.deepEqual(processesOf(sandbox), []);
    assert.deepEqual(outputsOf(sandbox), []);
  });

  test("whose temporary files exceed their limit ends as output_failed, and leaves none of them", () =>
    withExecutor(
      async (executor, sandbox) => {
        const execution = await executor.start(orderOf(TINY, ENDLESS), new RecordingListener());
        const end = await execution.ended;
        assert.ok(end.kind === "failed", JSON.stringify(end));
        const { code, detail, limit_bytes } = end.problem;
        assert.deepEqual([code, limit_bytes], ["output_failed", 4_096]);
        assert.match(
          detail,
          /^the job's temporary files took \d+ MiB, over the limit of 0 MiB \(work_bytes\)/,
        );
        assert.deepEqual(outputsOf(sandbox), []);
      },
      { workBytes: 4_096 },
    ));

  test(
    "two that together exceed the memory limit: one ends with its share in the error, and the other continues",
    IN_RELEASE_TIER,
    async () => {
      const sandbox = await newSandbox();
      const start = async (executor: ProcessExecutor) =>
        executor.start(orderOf(TINY, ENDLESS, { workers: 1 }), new RecordingListener());
      const lone = executorIn(sandbox);
      const one = await start(lone);
      await until(() => fittingIn(sandbox)[0]);
      const held = memoryOf(processesOf(sandbox), 0);
      await lone.close();
      assert.equal((await one.ended).kind, "lost");

      const limit = Math.round(1.5 * held);
      const executor = executorIn(sandbox, { memoryBytes: limit });
      try {
        const both = [await start(executor), await start(executor)];
        const [end, loser] = await Promise.race(
          both.map(async (execution, i) => [await execution.ended, i] as const),
        );
        assert.ok(end.kind === "failed", JSON.stringify(end));
        const { code, jobs, limit_bytes, share_bytes } = end.problem;
        assert.deepEqual(
          [code, jobs, limit_bytes, share_bytes],
          ["out_of_memory", 2, limit, Math.floor(limit / 2)],
        );
        const other = both[1 - loser]!;
        assert.ok(processesOf(sandbox).includes(pidOf(other)));
        other.stop("canceled");
        const last = await other.ended;
        assert.equal(last.kind === "failed" && last.problem.code, "canceled");
      } finally {
        await executor.close();
      }
    },
  );

  test("ends by itself if nothing keeps it for another job", () =>
    withExecutor(async (executor, sandbox) => {
      assert.equal((await run(executor, QUICK)).end.kind, "succeeded");
      await untilGone(sandbox);
    }));
});
