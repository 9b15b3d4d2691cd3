/** Runs the suite for executors on ProcessExecutor, and tests what its processes see, may use and leave behind. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { DEFECTIVE } from "../../../test/defective.testing.ts";
import { newFolder, removeFolders } from "../../../test/end-to-end/jobs/job-runs.ts";
import { FakeGateway } from "../../../test/engine/fake-gateway.ts";
import { IN_RELEASE_TIER } from "../../../test/whole-matrix.testing.ts";
import { memoryOf } from "../../engine/process-memory.ts";
import type { ExecutionEnd, JobOrder } from "../executor.ts";
import {
  type ExecutorTrial,
  type JobKind,
  RecordingListener,
  type StartedExecution,
  testExecutor,
} from "../executor-suite.testing.ts";
import {
  ENDLESS,
  executorIn,
  fittingIn,
  newSandbox,
  orderOf,
  outputOf,
  outputsOf,
  pidOf,
  processesOf,
  QUICK,
  RIDGE,
  run,
  type Sandbox,
  TINY,
  temporaryFilesOf,
  until,
  withExecutor,
} from "./jobs.testing.ts";
import { JobChild, type ProcessExecutor } from "./process-executor.ts";

after(removeFolders);

const options = {
  concurrency: 2,
  timeout: 600_000,
  skip: process.platform !== "linux" && "looks into /proc",
};

/** Has the caller's own numbers and white space, which the job must keep. */
const SUCCEEDS =
  '{"ML params": {"model": "ridge",\n "n_splits": 2, "model_params": {"alpha": 1.0e0}, "intervals": {"alpha": 0.2}}}\t';
const CONFIGS: Record<JobKind, string> = {
  succeeds: SUCCEEDS,
  fails: RIDGE.replace('"ridge"', '"ridge", "model_params": {"alpha": -1}'),
  "goes on": ENDLESS,
};

class ProcessTrial implements ExecutorTrial {
  readonly #sandbox: Sandbox;
  readonly #warm: boolean;
  readonly #killed = new Set<JobOrder>();
  #executor: ProcessExecutor | undefined;

  constructor(sandbox: Sandbox, warm: boolean) {
    this.#sandbox = sandbox;
    this.#warm = warm;
  }

  async open(): Promise<ProcessExecutor> {
    this.#executor = executorIn(this.#sandbox, { warm: this.#warm });
    return this.#executor;
  }

  order(kind: JobKind): JobOrder {
    return orderOf(TINY, CONFIGS[kind]);
  }

  async amid({ order }: StartedExecution): Promise<void> {
    if (order.config !== ENDLESS) return;
    await until(() => fittingIn(this.#sandbox)[0]);
  }

  async finish(): Promise<void> {
    // The job ends by itself.
  }

  kill({ order, execution }: StartedExecution): void {
    this.#killed.add(order);
    process.kill(pidOf(execution), "SIGKILL");
  }

  async checkLeft({ order, execution, listener }: StartedExecution, end: ExecutionEnd): Promise<void> {
    const outputs = outputsOf(this.#sandbox).filter((name) => name.includes(`_${order.id}.`));
    if (end.kind === "succeeded") {
      assert.deepEqual(outputs, [end.record.output_name]);
      assert.match(outputOf(this.#sandbox, order), /"alpha":1\.0e0/);
      assert.equal(await this.#executor!.adopt(order, execution.handle), undefined, "it has ended");
      assert.equal(listener.batches.at(-1)?.progress?.stage, "write");
      const names = listener.timings.map(({ name }) => name);
      for (const name of ["engine", "trial fit", "fit", "fit ALFA", "write"])
        assert.ok(names.includes(name), name);
      return;
    }
    assert.deepEqual(outputs, []);
    if (order.config !== ENDLESS) return;
    assert.deepEqual(processesOf(this.#sandbox), []);
    assert.deepEqual(temporaryFilesOf(this.#sandbox), []);
    if (!this.#killed.has(order)) return;
    const reason = "the job's process is gone: it was ended by SIGKILL";
    assert.deepEqual(end, { kind: "lost", reason });
  }

  async close(): Promise<void> {
    assert.deepEqual(processesOf(this.#sandbox), []);
    assert.deepEqual(temporaryFilesOf(this.#sandbox), []);
  }
}

testExecutor("process", options, async (runsMany) => new ProcessTrial(await newSandbox(), runsMany));

test("a job gets more workers while it runs", options, () =>
  withExecutor(async (executor, sandbox) => {
    const execution = await executor.start(orderOf(TINY, ENDLESS, { workers: 1 }), new RecordingListener());
    await until(() => fittingIn(sandbox)[0]);
    execution.setWorkers!(2);
    await until(() => fittingIn(sandbox)[1]);
    execution.stop("canceled");
    await execution.ended;
  }),
);

describe("what a job process sees", options, () => {
  const secrets = {
    DATABASE_URL: "postgresql://u:s3cret-1@h/d",
    MUCAST_WEBHOOK: "s3cret-2",
    NODE_OPTIONS: "--trace-warnings",
    AZURE_STORAGE_SAS_TOKEN: "sig=s3cret-3",
    AWS_SECRET_ACCESS_KEY: "s3cret-5",
  };
  /** Command lines and environments of all processes of a sandbox. */
  const seen = (sandbox: Sandbox, file: "cmdline" | "environ") =>
    processesOf(sandbox)
      .map((pid) => readFileSync(`/proc/${pid}/${file}`, "latin1"))
      .join("\0");

  for (const [what, others, found] of [
    ["contains no secret of the service", {}, []],
    [
      "contains the storage's credentials if that is Azure, and never on a command line",
      {
        blobUrl: "https://account.blob.core.windows.net/c?sv=1&sig=s3cret-4",
        policy: { allowed: [], container: "https://account.blob.core.windows.net/c" },
      },
      ["AZURE_STORAGE_SAS_TOKEN=sig=s3cret-3"],
    ],
  ] as const)
    test(what, () =>
      withExecutor(
        async (_, sandbox) => {
          // A job process and its engine.
          await until(() => (/mucast_engine\0host/.test(seen(sandbox, "cmdline")) ? true : undefined));
          const environment = seen(sandbox, "environ").split("\0");
          const secret = environment.filter((text) => /s3cret|trace-warnings/.test(text));
          assert.deepEqual([...new Set(secret)], found);
          assert.doesNotMatch(seen(sandbox, "cmdline"), /s3cret/);
        },
        { warm: true, env: { ...process.env, ...secrets }, ...others },
      ),
    );

  test("contains the token of the jobs' cluster, never on a command line, and keeps no engine on this machine", async () => {
    const fake = new FakeGateway(await newFolder());
    const logged: string[] = [];
    const variables = { ...secrets, MUCAST_PYTHON: fake.python, RAY_AUTH_TOKEN: "s3cret-token" };
    await withExecutor(
      async (executor, sandbox) => {
        const execution = await executor.start(orderOf(TINY, RIDGE), new RecordingListener());
        const gateway = await fake.started();
        gateway.greet();
        gateway.say({ event: "slots", slots: 3, added: ["10.0.0.2"], lost: [] });
        await gateway.started();
        assert.match(gateway.args.join(" "), / cluster .*--engine ray:\/\/127\.0\.0\.1:10001 --insecure$/);
        assert.match(seen(sandbox, "environ"), /RAY_AUTH_TOKEN=s3cret-token/);
        assert.doesNotMatch(seen(sandbox, "environ"), /s3cret-[123]/);
        assert.doesNotMatch(seen(sandbox, "cmdline"), /s3cret|mucast_engine\0host/);
        gateway.say({ event: "failed", code: "engine_unavailable", message: "no token", data: {} });
        const end = await execution.ended;
        assert.equal(end.kind === "failed" && end.problem.code, "engine_unavailable");
        assert.ok(
          logged.includes("the cluster runs 3 tasks at a time now: came 10.0.0.2"),
          logged.join("\n"),
        );
      },
      {
        warm: true,
        env: { ...process.env, ...variables },
        cluster: { url: "ray://127.0.0.1:10001", insecure: true },
        log: (line) => logged.push(line),
      },
    );
    await fake.close();
  });
});

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

  test("that exceeds its memory limit ends as out_of_memory", () =>
    withExecutor(
      async (executor, sandbox) => {
        const { end } = await run(executor, QUICK);
        assert.ok(end.kind === "failed", JSON.stringify(end));
        const { code, detail, limit_bytes, share_bytes } = end.problem;
        assert.deepEqual([code, limit_bytes, share_bytes], ["out_of_memory", 32 * 2 ** 20, 32 * 2 ** 20]);
        assert.match(detail, /held \d+ MiB of memory, over the limit of 32 MiB/);
        assert.deepEqual(outputsOf(sandbox), []);
      },
      { memoryBytes: 32 * 2 ** 20 },
    ));

  test("whose temporary files exceed their limit ends as output_failed, and leaves none of them", () =>
    withExecutor(
      async (executor, sandbox) => {
        const { end } = await run(executor, ENDLESS);
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
    "two that together exceed the memory limit: one ends, and the other continues",
    IN_RELEASE_TIER,
    async () => {
      const sandbox = await newSandbox();
      const start = async (executor: ProcessExecutor) =>
        executor.start(orderOf(TINY, ENDLESS, { workers: 1 }), new RecordingListener());
      const lone = executorIn(sandbox);
      await start(lone);
      await until(() => fittingIn(sandbox)[0]);
      const limit = Math.round(1.5 * memoryOf(processesOf(sandbox), 0));
      await lone.close();
      const executor = executorIn(sandbox, { memoryBytes: limit });
      const both = [await start(executor), await start(executor)];
      const ends = both.map(async (execution, i) => [await execution.ended, i] as const);
      const [end, loser] = await Promise.race(ends);
      assert.ok(end.kind === "failed", JSON.stringify(end));
      const { code, jobs, limit_bytes, share_bytes } = end.problem;
      assert.deepEqual(
        [code, jobs, limit_bytes, share_bytes],
        ["out_of_memory", 2, limit, Math.floor(limit / 2)],
      );
      assert.ok(processesOf(sandbox).includes(pidOf(both[1 - loser]!)));
      await executor.close();
    },
  );
});

/** Leaves a process behind that holds descriptor 3 and outlives its parent. */
const LINGERER = `data:text/javascript,${encodeURIComponent(
  `import { isMainThread } from "node:worker_threads"; import { spawn } from "node:child_process";
   if (isMainThread) spawn("sleep", ["1000"], { stdio: ["ignore", "ignore", "ignore", 3], env: process.env });`,
)}`;

async function childWith(nodeOptions: string, log: (line: string) => void = () => undefined) {
  const sandbox = await newSandbox();
  const env = { PATH: process.env.PATH!, TMPDIR: sandbox.temporary, NODE_OPTIONS: nodeOptions };
  const setup = { warm: false, blobUrl: sandbox.blobUrl, policy: { allowed: [] }, memoryBytes: 2 ** 40 };
  return { sandbox, child: new JobChild(env, log, setup) };
}

test("kills what a job process leaves behind, even if that holds its pipes", options, async () => {
  const { sandbox, child } = await childWith(`--import ${LINGERER}`);
  await until(() => (processesOf(sandbox).length === 2 ? true : undefined));
  process.kill(child.pid!, "SIGKILL");
  assert.deepEqual(await child.gone, { reason: "it was ended by SIGKILL", waited: true });
  assert.deepEqual(processesOf(sandbox), []);
});

test(
  "a defect in a job process is reported by its id alone, with the details in the log",
  options,
  async () => {
    const lines: string[] = [];
    const { child } = await childWith(DEFECTIVE, (line) => void lines.push(line));
    const end = await child.start(orderOf(TINY, QUICK), new RecordingListener()).ended;
    assert.ok(end.kind === "failed" && end.problem.code === "internal", JSON.stringify(end));
    assert.doesNotMatch(JSON.stringify(end), /secret|parse-config/);
    assert.equal(lines[0], `defect ${end.problem.id}: TypeError: /srv/secret/x0.npy is undefined`);
    assert.match(lines.join("\n"), /parse-config/);
    await child.gone;
  },
);
