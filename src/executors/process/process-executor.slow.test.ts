/** Runs the suite for executors on ProcessExecutor, and checks that it keeps secrets from its processes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { newFolder, removeFolders } from "../../../test/end-to-end/jobs/job-runs.ts";
import { FakeGateway } from "../../../test/engine/fake-gateway.ts";
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
  RIDGE,
  type Sandbox,
  TINY,
  temporaryFilesOf,
  until,
  withExecutor,
} from "./jobs.testing.ts";
import type { ProcessExecutor } from "./process-executor.ts";

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
    this.#checkScores();
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

  /** Checks that the kernel would kill the job process, its engine's host and every worker before the service. */
  #checkScores(): void {
    const own = scoreOf("self");
    const scores = processesOf(this.#sandbox).map(scoreOf);
    assert.ok(scores.length >= 3, "the job process, the engine's host and a worker");
    assert.ok(
      scores.every((its) => its > own || its === 1_000),
      `${scores} beside ${own}`,
    );
  }
}

function scoreOf(pid: number | "self"): number {
  return Number(readFileSync(`/proc/${pid}/oom_score_adj`, "latin1"));
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

  /** Waits for a job process and its engine, but not for their imports. */
  const started = (sandbox: Sandbox) =>
    until(() => (/mucast_engine\0host/.test(seen(sandbox, "cmdline")) ? true : undefined));

  test("contains no secret of the service", () =>
    withExecutor(
      async (_, sandbox) => {
        await started(sandbox);
        assert.equal(processesOf(sandbox).length, 2, "a job process and its engine");
        assert.doesNotMatch(seen(sandbox, "environ"), /s3cret|trace-warnings/);
      },
      { warm: true, env: { ...process.env, ...secrets } },
    ));

  test("contains the storage's credentials if that is Azure, and never on a command line", () =>
    withExecutor(
      async (_, sandbox) => {
        await started(sandbox);
        assert.match(seen(sandbox, "environ"), /AZURE_STORAGE_SAS_TOKEN=sig=s3cret-3/);
        assert.doesNotMatch(seen(sandbox, "environ"), /s3cret-[1245]/);
        assert.doesNotMatch(seen(sandbox, "cmdline"), /s3cret/);
      },
      {
        warm: true,
        env: { ...process.env, ...secrets },
        blobUrl: "https://account.blob.core.windows.net/c?sv=1&sig=s3cret-4",
        policy: { allowed: [], container: "https://account.blob.core.windows.net/c" },
      },
    ));

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
