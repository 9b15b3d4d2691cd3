import assert from "node:assert/strict";
import { beforeEach, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import { onEachDatabase, removeOperations } from "../database/databases.testing.ts";
import { CONFIG, failedWith, LOST, newCaller, recordOf, startQueue } from "./queue.testing.ts";

onEachDatabase((tested) => {
  beforeEach(() => removeOperations(tested.database()));

  /** A queue with an operation that it runs. */
  async function begin(t: TestContext, settings: Parameters<typeof startQueue>[2] = {}) {
    const tried = await startQueue(tested, t, settings);
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    /** How the operation ended: its status and the code of its error. */
    const outcome = async () => {
      const { status, error } = await tried.ended(caller, id);
      return [status, error?.code];
    };
    return { tried, caller, id, execution, outcome };
  }

  /** Like `begin`, for an operation whose first start the executor refuses. */
  async function refused(t: TestContext, error: Error) {
    const tried = await startQueue(tested, t);
    const caller = newCaller();
    const refusal = tried.executor.refuse(error);
    const { id } = await tried.submit(caller);
    await refusal;
    return { tried, caller, id };
  }
  const notNow = new MucastError("unavailable", "not now", { retryAfter: 0 });

  test("a job has all cores until another one starts, and again once the other has ended", {
    timeout: 60_000,
  }, async (t) => {
    const { tried, caller, execution: first } = await begin(t, { concurrent_jobs: 2, cores: 4 });
    const { id } = await tried.submit(caller);
    const second = await tried.executor.next();
    second.end({ kind: "succeeded", record: recordOf(id) });
    await tried.ended(caller, id);
    // The operation ends in the database before its cores are free again.
    while (first.workers.length < 3) await setImmediate();
    assert.deepEqual([first.workers, second.workers], [[4, 2, 4], [2]]);
    first.end(LOST);
  });

  test("an operation with an output of its config in the storage has succeeded, whatever its execution reported", async (t) => {
    for (const [end, config, expected] of [
      [LOST, CONFIG, ["Succeeded", undefined]],
      [failedWith("output_failed"), CONFIG, ["Succeeded", undefined]],
      [failedWith("output_failed"), `${CONFIG} `, ["Failed", "output_failed"]],
    ] as const) {
      const { tried, caller, id, execution, outcome } = await begin(t);
      await tried.leaveOutput(caller, id, config);
      execution.end(end);
      assert.deepEqual(await outcome(), expected);
      await tried.close();
    }
  });

  test("the dispatcher repeats a refused start, which leaves no event", async (t) => {
    const { tried, caller, id } = await refused(t, notNow);
    const { order, end } = await tried.executor.next();
    assert.deepEqual([order.id, order.attempt], [id, 2]);
    end({ kind: "succeeded", record: recordOf(id) });
    await tried.ended(caller, id);
    const types = (await tried.events(caller, id)).map(({ type }) => type);
    assert.deepEqual(types, ["queued", "started", "succeeded"]);
  });

  test("a defect at the start ends the operation, whose problem holds only the defect's id", async (t) => {
    const { tried, caller, id } = await refused(t, new TypeError("/srv/secret is undefined"));
    const { status, error } = await tried.ended(caller, id);
    assert.deepEqual([status, error?.code, typeof error?.id], ["Failed", "internal", "string"]);
    assert.doesNotMatch(JSON.stringify(error), /secret|TypeError/);
  });

  test("the dispatcher stops a job over its time, and a clock ahead of the database's costs a job none", async (t) => {
    const late = await begin(t, { job_seconds: 0 });
    assert.deepEqual(await late.outcome(), ["Failed", "timed_out"]);
    await late.tried.close();
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 90_000 });
    const { tried, caller, id, execution, outcome } = await begin(t, { job_seconds: 60 });
    await tried.stored(caller, id, "started");
    t.mock.timers.setTime(Date.now() + 86_400_000);
    await tried.operations.get(caller, id);
    assert.deepEqual(execution.stops, []);
    execution.end({ kind: "succeeded", record: recordOf(id) });
    assert.deepEqual(await outcome(), ["Succeeded", undefined]);
  });
});
