import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { newFolder, removeFolders, runJob, withoutIdentity } from "../../../test/end-to-end/job-runs.ts";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import { memoryOf } from "../../engine/process-memory.ts";
import { runDlJob } from "../../jobs/dl/run-dl-job.ts";
import { runMlJob } from "../../jobs/ml/run-ml-job.ts";
import { readStatus } from "../status-reader.ts";
import {
  ENDLESS,
  type Environment,
  executorAt,
  fittingIn,
  Hearing,
  newPlace,
  orderOf,
  type Place,
  pidOf,
  processesOf,
  RIDGE,
  TINY,
  until,
} from "./jobs.testing.ts";
import type { ProcessExecutor } from "./process-executor.ts";

after(removeFolders);

const options = {
  concurrency: 2,
  timeout: 300_000,
  skip: process.platform !== "linux" && "looks into /proc",
};

const statusOf = (place: Place, id: string) => readStatus(new FolderStore(place.blobUrl, "file:"), id, 1);
const data = (place: Place) => readdirSync(join(place.blobUrl, "data"));
const leftIn = (place: Place) =>
  readdirSync(place.temporary).flatMap((base) => readdirSync(join(place.temporary, base)));

/** Runs one job to its end. */
async function run(executor: ProcessExecutor, config: string) {
  const order = orderOf(TINY, config);
  const hearing = new Hearing();
  const execution = await executor.start(order, hearing);
  return { order, hearing, execution, end: await execution.ended };
}

async function withExecutor(
  use: (executor: ProcessExecutor, place: Place) => Promise<void>,
  options: Parameters<typeof executorAt>[1] = {},
): Promise<void> {
  const place = await newPlace();
  const executor = executorAt(place, options);
  try {
    await use(executor, place);
  } finally {
    await executor.close();
    assert.deepEqual(processesOf(place), []);
    assert.deepEqual(leftIn(place), []);
  }
}

describe("a job in a process of its own", options, () => {
  test("tells its progress, warnings and timings, and has left its status when it has ended", () =>
    withExecutor(async (executor, place) => {
      const { order, hearing, end } = await run(executor, RIDGE);
      assert.equal(end.kind, "succeeded");
      const record = end.kind === "succeeded" ? end.record : undefined;
      assert.deepEqual(data(place), [`ml_engine_${order.id}.json`]);
      assert.equal(record?.output_name, `ml_engine_${order.id}.json`);
      const stages = hearing.events.flatMap((event) => (event.kind === "progress" ? [event.stage] : []));
      assert.deepEqual([...new Set(stages)], ["read", "fit", "evaluate", "write"]);
      assert.ok(hearing.events.some(({ kind }) => kind === "warning"));
      const status = (await statusOf(place, order.id))!;
      assert.deepEqual(status.end, { record });
      assert.deepEqual(status.timings, hearing.timings);
      const names = hearing.timings.map(({ name }) => name);
      for (const name of ["engine", "trial fit", "fit", "fit ALFA", "write"])
        assert.ok(names.includes(name), name);
    }));

  test("reads and writes under the service's own address, which stands for a folder", async () => {
    const base = "http://127.0.0.1:8080";
    const folder = await newFolder();
    await mkdir(join(folder, "data"));
    await copyFile(TINY.features, join(folder, "data", "feature_engine_tiny.json"));
    await copyFile(TINY.prices, join(folder, "data", "data_extractor_tiny.json"));
    const urls = {
      featureUrl: `${base}/data/feature_engine_tiny.json`,
      dataExtractorUrl: `${base}/data/data_extractor_tiny.json`,
    };
    await withExecutor(
      async (executor) => {
        const order = orderOf(TINY, RIDGE, urls);
        const end = await (await executor.start(order, new Hearing())).ended;
        assert.ok(end.kind === "succeeded", JSON.stringify(end));
        const { output_url, output_name } = end.record;
        assert.equal(output_url, `${base}/data/${output_name}`);
        assert.ok(readdirSync(join(folder, "data")).includes(output_name));
        assert.deepEqual(readdirSync(join(folder, "status")), [`${order.id}.1.json`]);
      },
      { blobUrl: base, policy: { allowed: [], mapped: [{ base, folder }] } },
    );
  });

  test("reads and writes in the space of its caller alone, but for inputs that are shared", async () => {
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
        const order = orderOf(TINY, RIDGE, { ...urls, space });
        const closed = await (await executor.start(order, new Hearing())).ended;
        assert.equal(closed.kind === "failed" && closed.problem.code, "blob_not_found");
        const shared = orderOf(TINY, RIDGE, { ...urls, space, shared: [urls.dataExtractorUrl] });
        const end = await (await executor.start(shared, new Hearing())).ended;
        assert.ok(end.kind === "succeeded", JSON.stringify(end));
        assert.equal(end.record.output_url, `${base}/data/${end.record.output_name}`);
        assert.ok(readdirSync(join(folder, space, "data")).includes(end.record.output_name));
        assert.ok(readdirSync(join(folder, space, "status")).includes(`${shared.id}.1.json`));
        assert.deepEqual(readdirSync(folder).sort(), ["data", space]);
      },
      { blobUrl: base, policy: { allowed: [], mapped: [{ base, folder, root: folder }] } },
    );
  });

  test("hands the config on as it is written, character for character", () =>
    withExecutor(async (executor, place) => {
      const config = '{"ML params": {"model": "ridge",\n "n_splits": 2, "model_params": {"alpha": 1.0e0}}}\t';
      const { order } = await run(executor, config);
      const output = readFileSync(join(place.blobUrl, "data", `ml_engine_${order.id}.json`), "utf8");
      const { provenance } = JSON.parse(output);
      assert.equal((await statusOf(place, order.id))?.config_sha256, provenance.config_sha256);
      assert.match(output, /"alpha":1\.0e0/);
    }));

  test("that fails tells its problem, also in its status", () =>
    withExecutor(async (executor, place) => {
      const { order, end } = await run(
        executor,
        RIDGE.replace('"ridge"', '"ridge", "model_params": {"alpha": -1}'),
      );
      assert.ok(end.kind === "failed");
      assert.equal(end.problem.code, "invalid_model_params");
      assert.deepEqual((await statusOf(place, order.id))?.end, { problem: end.problem });
      assert.deepEqual(data(place), []);
    }));

  test("whose work folder is removed meanwhile fails by that, and its problem names no place", () =>
    withExecutor(async (executor, place) => {
      const config = ENDLESS.replace("100000", "400").replace("10}", "6}");
      const execution = await executor.start(orderOf(TINY, config, { workers: 1 }), new Hearing());
      await until(() => fittingIn(place)[0]);
      rmSync(place.temporary, { recursive: true });
      const end = await execution.ended;
      mkdirSync(place.temporary);
      assert.ok(end.kind === "failed", JSON.stringify(end));
      assert.equal(end.problem.code, "output_failed");
      assert.match(end.problem.detail, /the work folder of the job cannot be (read|written): /);
      assert.doesNotMatch(JSON.stringify(end.problem), /\/tmp|mucast-/);
    }));

  test("that holds more than it may ends as out_of_memory, and the next one runs", async () => {
    const place = await newPlace();
    const executor = executorAt(place, { memoryBytes: 32 * 2 ** 20 });
    try {
      const { end } = await run(executor, RIDGE);
      assert.ok(end.kind === "failed", JSON.stringify(end));
      const { code, detail, limit_bytes, share_bytes } = end.problem;
      assert.deepEqual([code, limit_bytes, share_bytes], ["out_of_memory", 32 * 2 ** 20, 32 * 2 ** 20]);
      assert.match(detail, /held \d+ MiB of memory, over the limit of 32 MiB/);
    } finally {
      await executor.close();
    }
    assert.deepEqual(processesOf(place), []);
    assert.deepEqual(data(place), []);
  });

  test("two that together hold more than they may: one ends, told its share, and the other goes on", async () => {
    const place = await newPlace();
    const start = async (executor: ProcessExecutor) =>
      executor.start(orderOf(TINY, ENDLESS, { workers: 1 }), new Hearing());
    const lone = executorAt(place);
    const one = await start(lone);
    await until(() => fittingIn(place)[0]);
    const held = memoryOf(processesOf(place), 0);
    await lone.close();
    assert.equal((await one.ended).kind, "lost");

    const limit = Math.round(1.5 * held);
    const executor = executorAt(place, { memoryBytes: limit });
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
      assert.ok(processesOf(place).includes(pidOf(other)));
      other.stop("canceled");
      const last = await other.ended;
      assert.equal(last.kind === "failed" && last.problem.code, "canceled");
    } finally {
      await executor.close();
    }
  });

  test("is ended by the kernel before its service, with all that it starts", async () => {
    const place = await newPlace();
    const executor = executorAt(place);
    const score = (pid: number | "self") => Number(readFileSync(`/proc/${pid}/oom_score_adj`, "latin1"));
    const own = score("self");
    try {
      const execution = await executor.start(orderOf(TINY, ENDLESS, { workers: 1 }), new Hearing());
      await until(() => fittingIn(place)[0]);
      const scores = processesOf(place).map(score);
      assert.equal(scores.length, 3, "the job process, the engine's host and a worker");
      assert.ok(
        scores.every((its) => its > own || its === 1_000),
        `${scores} beside ${own}`,
      );
      execution.stop("canceled");
      await execution.ended;
    } finally {
      await executor.close();
    }
  });

  test("started twice is one execution, and gone it cannot be adopted", () =>
    withExecutor(async (executor, place) => {
      const order = orderOf(TINY, RIDGE);
      const execution = await executor.start(order, new Hearing());
      assert.equal(await executor.start(order, new Hearing()), execution);
      assert.equal(await executor.adopt(order, execution.handle), execution);
      await execution.ended;
      assert.equal(await executor.adopt(order, execution.handle), undefined);
      assert.equal(data(place).length, 1);
    }));

  test("succeeds where its status cannot be written, which is logged with its operation", async () => {
    const lines: [string, string | undefined][] = [];
    const log = (...line: [string, string | undefined]) => lines.push(line);
    await withExecutor(
      async (executor, place) => {
        writeFileSync(join(place.blobUrl, "status"), "");
        const { order, end } = await run(executor, RIDGE);
        assert.equal(end.kind, "succeeded");
        assert.ok(lines.length >= 1);
        assert.match(lines[0]![0], /could not be written/);
        assert.equal(lines[0]![1], order.id);
      },
      { log },
    );
  });
});

describe("what a job process sees", options, () => {
  const secrets = {
    DATABASE_URL: "postgresql://u:s3cret-1@h/d",
    MUCAST_WEBHOOK: "s3cret-2",
    NODE_OPTIONS: "--trace-warnings",
    AZURE_STORAGE_SAS_TOKEN: "sig=s3cret-3",
  };
  /** Command lines and environments of everything of a place. */
  const seen = (place: Place, file: "cmdline" | "environ") =>
    processesOf(place)
      .map((pid) => readFileSync(`/proc/${pid}/${file}`, "latin1"))
      .join("\0");

  test("holds no secret of the service", () =>
    withExecutor(
      async (executor, place) => {
        await executor.ready();
        assert.equal(processesOf(place).length, 2, "a job process and its engine");
        assert.doesNotMatch(seen(place, "environ"), /s3cret|trace-warnings/);
      },
      { warm: true, env: { ...process.env, ...secrets } },
    ));

  test("holds the storage's credentials where that is Azure, and never on a command line", () =>
    withExecutor(
      async (executor, place) => {
        await executor.ready();
        assert.match(seen(place, "environ"), /AZURE_STORAGE_SAS_TOKEN=sig=s3cret-3/);
        assert.doesNotMatch(seen(place, "environ"), /s3cret-[124]/);
        assert.doesNotMatch(seen(place, "cmdline"), /s3cret/);
      },
      {
        warm: true,
        env: { ...process.env, ...secrets },
        blobUrl: "https://account.blob.core.windows.net/c?sv=1&sig=s3cret-4",
        policy: { allowed: [], container: "https://account.blob.core.windows.net/c" },
      },
    ));
});

describe("a job process that is ready before its job", options, () => {
  const classical = (model: string, scaler: string) =>
    `{"ML params": {"model": "${model}", "scaler": "${scaler}", "n_splits": 2, "cv_test_size": 3, "intervals": {"alpha": 0.3}}}`;
  const cases = [
    classical("ridge", "none"),
    classical("random_forest", "robust"),
    classical("lightgbm", "none"),
    classical("xgboost", "standard"),
    classical("catboost", "minmax"),
    `{"NN params": {"Dot prediction": {"current option": "mlp", "data_processing": {"lookback": 2}, "training_params": {"epochs": 2}}}}`,
  ];
  for (const config of cases) {
    const model = /"(?:model|current option)": "(\w+)"/.exec(config)![1];
    test(`leaves the same bytes for ${model} as one that begins with it`, () =>
      withExecutor(
        async (executor, place) => {
          await executor.ready();
          const [waiting] = processesOf(place);
          const { order, end, execution } = await run(executor, config);
          assert.equal(end.kind, "succeeded", JSON.stringify(end));
          assert.equal(pidOf(execution), waiting);
          const job = order.operation === "run_ml_job" ? runMlJob : runDlJob;
          const fresh = await runJob({ ...TINY }, config, 1, (request, context) =>
            job({ ...request, blobUrl: place.blobUrl, id: `${order.id}-fresh` }, context),
          );
          const prefix = order.operation === "run_ml_job" ? "ml" : "nn";
          const warm = readFileSync(join(place.blobUrl, "data", `${prefix}_engine_${order.id}.json`), "utf8");
          assert.equal(withoutIdentity(warm), withoutIdentity(fresh.text));
        },
        { warm: true },
      ));
  }

  test("does one job after the other, and none leaves a trace in the next", () =>
    withExecutor(
      async (executor, place) => {
        await executor.ready();
        const text = ({ id }: { id: string }) =>
          withoutIdentity(readFileSync(join(place.blobUrl, "data", `ml_engine_${id}.json`), "utf8"));
        const bad = RIDGE.replace('"ridge"', '"ridge", "model_params": {"alpha": -1}');
        const jobs = [];
        for (const config of [RIDGE, classical("catboost", "none"), bad, RIDGE])
          jobs.push(await run(executor, config));
        assert.deepEqual(
          jobs.map(({ end }) => end.kind),
          ["succeeded", "succeeded", "failed", "succeeded"],
        );
        assert.equal(new Set(jobs.map(({ execution }) => pidOf(execution))).size, 1);
        assert.equal(text(jobs[0]!.order), text(jobs[3]!.order));
        for (const { execution } of jobs) execution.stop("canceled");
        assert.equal((await run(executor, RIDGE)).end.kind, "succeeded");
      },
      { warm: true },
    ));

  test("that has done its job ends where none is kept ready", () =>
    withExecutor(async (executor, place) => {
      await run(executor, RIDGE);
      await until(() => (processesOf(place).length === 0 ? true : undefined));
    }));

  test("is replaced when it is killed while it waits", () =>
    withExecutor(
      async (executor, place) => {
        await executor.ready();
        const killed = processesOf(place);
        for (const pid of killed) process.kill(pid, "SIGKILL");
        await until(() => processesOf(place).find((pid) => !killed.includes(pid)));
        assert.equal((await run(executor, RIDGE)).end.kind, "succeeded");
      },
      { warm: true },
    ));

  test("is replaced when it stands still while it waits", () =>
    withExecutor(
      async (executor, place) => {
        await executor.ready();
        const [stopped] = processesOf(place);
        process.kill(stopped!, "SIGSTOP");
        const { end, execution } = await run(executor, RIDGE);
        assert.equal(end.kind, "succeeded");
        assert.notEqual(pidOf(execution), stopped);
      },
      // Far longer than one that is ready takes, far less than a new one may.
      { warm: true, accept: { ready: 2_000, starting: 300_000 } },
    ));

  test("whose engine was killed while it waited does the job with another one", () =>
    withExecutor(
      async (executor, place) => {
        await executor.ready();
        const [job, host] = processesOf(place);
        process.kill(host!, "SIGKILL");
        await until(() => (processesOf(place).length === 1 ? true : undefined));
        const { end, execution } = await run(executor, RIDGE);
        assert.deepEqual([end.kind, pidOf(execution)], ["succeeded", job]);
      },
      { warm: true },
    ));

  test("is given up where the environment has changed since it was started", async () => {
    const env: Environment = { ...process.env };
    await withExecutor(
      async (executor, place) => {
        await executor.ready();
        const [waiting] = processesOf(place);
        env.MUCAST_PYTHON = "/no/such/python";
        const { end, execution } = await run(executor, RIDGE);
        assert.ok(end.kind === "failed");
        assert.equal(end.problem.code, "engine_unavailable");
        assert.notEqual(pidOf(execution), waiting);
      },
      { warm: true, env },
    );
  });

  test("is ready also without an engine, which is the job's own error", () =>
    withExecutor(
      async (executor, place) => {
        await executor.ready();
        assert.equal(processesOf(place).length, 1);
        const { end } = await run(executor, RIDGE);
        assert.ok(end.kind === "failed");
        assert.equal(end.problem.code, "engine_unavailable");
        // The log tells where it was looked for.
        assert.doesNotMatch(JSON.stringify(end.problem), /such\/python/);
      },
      { warm: true, env: { ...process.env, MUCAST_PYTHON: "/no/such/python" } },
    ));
});
