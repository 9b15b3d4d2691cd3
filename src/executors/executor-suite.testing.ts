/** The suite that every executor must pass. For a new executor, call `testExecutor` with its own trial. */
import assert from "node:assert/strict";
import { after, before, describe, type TestOptions, test } from "node:test";
import { MucastError } from "../contract/errors/errors.ts";
import type { EventBatch, Timing } from "../contract/output/job-events.ts";
import type { Execution, ExecutionEnd, ExecutionListener, Executor, JobOrder } from "./executor.ts";

/** Records the reports of an execution. */
export class RecordingListener implements ExecutionListener {
  readonly batches: EventBatch[] = [];
  timings: readonly Timing[] = [];

  onEvents(batch: EventBatch): void {
    this.batches.push(batch);
  }

  onTimings(timings: readonly Timing[]): void {
    this.timings = timings;
  }
}

/** How the job of an order ends: `goes on` runs until it is stopped, killed or finished. */
export type JobKind = "succeeds" | "fails" | "goes on";

/** An execution with its order and its reports. */
export interface StartedExecution {
  readonly order: JobOrder;
  readonly execution: Execution;
  readonly listener: RecordingListener;
}

/** The surroundings of one kind of executor: storage, and a platform, which may be a fake. */
export interface ExecutorTrial {
  /** The executor of another service. The suite closes it. */
  open(): Promise<Executor>;
  /** An order with a new id. A job that succeeds has a warning; a job that fails does so as `invalid_model_params`. */
  order(kind: JobKind): JobOrder;
  /** Settles once the job is running. */
  amid(tried: StartedExecution): Promise<void>;
  /** Lets the job end as its order says; a job that goes on succeeds. */
  finish(tried: StartedExecution): Promise<void>;
  /** Kills the execution, so that the job cannot report how it ended. */
  kill(tried: StartedExecution): void;
  /** Asserts that no process is left, and that status and output are as expected. */
  checkLeft(tried: StartedExecution, end: ExecutionEnd): Promise<void>;
  /** Removes the surroundings after every executor is closed, and asserts that nothing is left. */
  close(): Promise<void>;
}

const OPEN = Symbol("open");

export function testExecutor(
  name: Executor["name"],
  options: TestOptions,
  /** @param runsMany whether one executor runs several jobs, one after the other. */
  openTrial: (runsMany: boolean) => Promise<ExecutorTrial>,
): void {
  describe(`the executor ${name}`, options, () => {
    describe("runs jobs one after the other", { concurrency: 1 }, () => {
      let trial: ExecutorTrial;
      let executor: Executor;
      before(async () => {
        trial = await openTrial(true);
        executor = await trial.open();
        assert.equal(executor.name, name);
      });
      after(async () => {
        await executor.close();
        await trial.close();
      });

      test("a job that succeeds reports progress, warnings and timings, and ends with its record", async () => {
        const tried = await start(trial, executor, "succeeds");
        await trial.amid(tried);
        await trial.finish(tried);
        const end = await tried.execution.ended;
        assert.ok(end.kind === "succeeded", JSON.stringify(end));
        assert.equal(end.record.output_name, `ml_engine_${tried.order.id}.json`);
        const { batches, timings } = tried.listener;
        assert.ok(batches.some(({ progress }) => progress !== undefined));
        assert.ok(batches.some(({ warnings }) => warnings !== undefined));
        assert.ok(timings.length > 0);
        await trial.checkLeft(tried, end);
      });

      test("a job that fails ends with its problem", async () => {
        const tried = await start(trial, executor, "fails");
        await trial.finish(tried);
        const end = await tried.execution.ended;
        assert.ok(end.kind === "failed", JSON.stringify(end));
        assert.equal(end.problem.code, "invalid_model_params");
        await trial.checkLeft(tried, end);
      });

      test("does not adopt a handle of another executor", async () => {
        for (const handle of ["", "1-1", '{"pid":1}'])
          assert.equal(
            await executor.adopt(trial.order("goes on"), handle, new RecordingListener()),
            undefined,
          );
      });
    });

    test("an attempt that is started twice, or adopted while it runs, has one execution", () =>
      withTrial(openTrial, async (trial, open) => {
        const executor = await open();
        const tried = await start(trial, executor, "goes on");
        const { order, execution } = tried;
        const again = await executor.start(order, new RecordingListener());
        const adopted = await executor.adopt(order, execution.handle, new RecordingListener());
        assert.deepEqual([again.handle, adopted?.handle], [execution.handle, execution.handle]);
        await trial.amid(tried);
        // Each is stopped by its own service, which knows the reason.
        for (const one of [execution, again, adopted!]) one.stop("canceled");
        const ends = await Promise.all([execution.ended, again.ended, adopted!.ended]);
        for (const end of ends) assert.equal(end.kind === "failed" && end.problem.code, "canceled");
        await trial.checkLeft(tried, ends[0]);
      }));

    for (const [reason, stop] of [
      ["canceled", (_, { execution }) => execution.stop("canceled")],
      ["timed_out", (_, { execution }) => execution.stop("timed_out")],
      ["lost", (trial, tried) => trial.kill(tried)],
    ] as [string, (trial: ExecutorTrial, tried: StartedExecution) => void][]) {
      test(`a job that is stopped or killed ends as ${reason}, once nothing of it runs`, () =>
        withTrial(openTrial, async (trial, open) => {
          const tried = await start(trial, await open(), "goes on");
          await trial.amid(tried);
          stop(trial, tried);
          // The first reason counts, and a late one is harmless.
          if (reason !== "lost") tried.execution.stop("canceled");
          const end = await tried.execution.ended;
          assert.equal(end.kind === "failed" ? end.problem.code : end.kind, reason);
          await trial.checkLeft(tried, end);
          tried.execution.stop("canceled");
        }));
    }

    test("a service that closes detaches from a job or loses it; a later service finds it again or finds nothing", () =>
      withTrial(openTrial, async (trial, open) => {
        const executor = await open();
        const tried = await start(trial, executor, "goes on");
        const { order, execution } = tried;
        await trial.amid(tried);
        await executor.close();
        const refused = executor.start(trial.order("goes on"), new RecordingListener());
        await assert.rejects(
          refused,
          (error) => error instanceof MucastError && error.code === "unavailable",
          "a closed executor starts nothing",
        );
        const listener = new RecordingListener();
        const adopted = await (await open()).adopt(order, execution.handle, listener);
        if (executor.outlivesService) {
          assert.equal(adopted?.handle, execution.handle);
          await trial.finish({ order, execution: adopted!, listener });
          assert.equal((await adopted!.ended).kind, "succeeded");
          assert.equal(await Promise.race([execution.ended, Promise.resolve(OPEN)]), OPEN);
        } else {
          assert.equal(adopted, undefined);
          const end = await execution.ended;
          assert.equal(end.kind, "lost");
          await trial.checkLeft(tried, end);
        }
      }));
  });
}

async function start(trial: ExecutorTrial, executor: Executor, kind: JobKind): Promise<StartedExecution> {
  const [order, listener] = [trial.order(kind), new RecordingListener()];
  return { order, listener, execution: await executor.start(order, listener) };
}

async function withTrial(
  openTrial: (runsMany: boolean) => Promise<ExecutorTrial>,
  use: (trial: ExecutorTrial, open: () => Promise<Executor>) => Promise<void>,
): Promise<void> {
  const trial = await openTrial(false);
  const executors: Executor[] = [];
  try {
    await use(trial, async () => {
      const executor = await trial.open();
      executors.push(executor);
      return executor;
    });
  } finally {
    await Promise.all(executors.map((executor) => executor.close()));
    await trial.close();
  }
}
