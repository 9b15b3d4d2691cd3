import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Database } from "../database/database.ts";
import { onEachDatabase, removeOperations, withMembers } from "../database/databases.testing.ts";
import {
  CONFIG,
  FakeExecutor,
  failedWith,
  LOST,
  newCaller,
  recordOf,
  startQueue,
  TestedQueue,
} from "./queue.testing.ts";

/** A database whose second write after `hold`, the first being a claim, waits until `released` settles. `hold` settles once it waits. */
function heldOnce(database: Database, released: Promise<void>) {
  let onHeld: (() => void) | undefined;
  let left = 0;
  const write: Database["write"] = async (work) => {
    if (onHeld !== undefined && left-- === 0) {
      onHeld();
      onHeld = undefined;
      await released;
    }
    return database.write(work);
  };
  const hold = () =>
    new Promise<void>((resolve) => {
      left = 1;
      onHeld = resolve;
    });
  return { held: withMembers(database, { write }), hold };
}

onEachDatabase((tested) => {
  beforeEach(() => removeOperations(tested.database()));

  test("an operation is queued, started, reported and ended, and its events have numbers without a gap", async (t) => {
    const tried = await startQueue(tested, t);
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    assert.deepEqual([execution.order.id, execution.order.attempt], [id, 1]);
    assert.equal(execution.order.config, CONFIG);
    assert.deepEqual(tried.dispatcher.occupancy, { running: 1, jobs: 2, cores: { used: 2, of: 2 } });
    execution.listener.onEvents({
      warnings: [{ code: "long_gap", message: "A: a gap" }],
      progress: { stage: "fit", done: 3, total: 7 },
    });
    execution.end({ kind: "succeeded", record: recordOf(id) });
    const view = await tried.ended(caller, id);
    assert.equal(view.status, "Succeeded");
    assert.deepEqual(view.result, recordOf(id));
    assert.deepEqual(view.progress, { stage: "fit", done: 3, total: 7, percent: 42.8 });
    assert.deepEqual(view.warnings, [{ code: "long_gap", message: "A: a gap" }]);
    const events = await tried.events(caller, id);
    assert.deepEqual(
      events.map(({ seq, type }) => `${seq} ${type}`),
      ["1 queued", "2 started", "3 warning", "4 progress", "5 succeeded"],
    );
    assert.deepEqual(events.at(-1)!.data, view);
  });

  test("reports of a job whose start is not stored yet come after the event started", async (t) => {
    const start = Promise.withResolvers<void>();
    const database = heldOnce(tested.database(), start.promise);
    const tried = await new TestedQueue(database.held).start({ dispatch: false });
    t.after(() => tried.close());
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const starting = database.hold();
    t.mock.timers.enable({ apis: ["setTimeout"] });
    tried.dispatcher.start(tried.notifications);
    const execution = await tried.executor.next();
    await starting;
    execution.listener.onEvents({ progress: { stage: "fit", done: 3, total: 7 } });
    t.mock.timers.tick(60_000);
    t.mock.timers.reset();
    start.resolve();
    await tried.stored(caller, id, "started");
    execution.end({ kind: "succeeded", record: recordOf(id) });
    const events = await tried.events(caller, id);
    assert.deepEqual(
      events.map(({ type }) => type),
      ["queued", "started", "progress", "succeeded"],
    );
  });

  test("a job has all cores until another one starts, and again once the other has ended", {
    timeout: 60_000,
  }, async (t) => {
    const tried = await startQueue(tested, t, { concurrent_jobs: 2, cores: 4 });
    const caller = newCaller();
    await tried.submit(caller);
    const first = await tried.executor.next();
    const { id } = await tried.submit(caller);
    const second = await tried.executor.next();
    second.end({ kind: "succeeded", record: recordOf(id) });
    await tried.ended(caller, id);
    // The operation ends in the database before its cores are free again.
    while (first.workers.length < 3) await setImmediate();
    assert.deepEqual([first.workers, second.workers], [[4, 2, 4], [2]]);
    first.end(LOST);
  });

  test("the dispatcher does not know the cores of an executor whose jobs run elsewhere", () => {
    const { dispatcher } = new TestedQueue(tested.database(), {}, new FakeExecutor(true));
    assert.deepEqual(dispatcher.occupancy, { running: 0, jobs: 2, cores: null });
  });

  test("the dispatcher repeats a lost attempt once, and a second loss ends the operation", async (t) => {
    const tried = await startQueue(tested, t);
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    (await tried.executor.next()).end(LOST);
    const second = await tried.executor.next();
    assert.equal(second.order.attempt, 2);
    second.end(LOST);
    const { status, error } = await tried.ended(caller, id);
    assert.deepEqual([status, error?.code], ["Failed", "execution_lost"]);
  });

  test("an operation with an output in the storage has succeeded, whatever its execution reported", async (t) => {
    const tried = await startQueue(tested, t);
    const caller = newCaller();
    for (const end of [LOST, failedWith("output_failed")]) {
      const { id } = await tried.submit(caller);
      const execution = await tried.executor.next();
      await tried.leaveOutput(caller, id, CONFIG);
      execution.end(end);
      const { status, result } = await tried.ended(caller, id);
      assert.deepEqual([status, result?.output_name], ["Succeeded", `ml_engine_${id}.json`]);
    }
  });

  test("an output of another config is not the operation's", async (t) => {
    const tried = await startQueue(tested, t);
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    await tried.leaveOutput(caller, id, `${CONFIG} `);
    execution.end(failedWith("output_failed"));
    assert.equal((await tried.ended(caller, id)).error?.code, "output_failed");
  });

  test("a job that succeeds while its caller cancels it has succeeded", async (t) => {
    const tried = await startQueue(tested, t);
    tried.executor.obeys = false;
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    await tried.operations.cancel(caller, id);
    execution.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await tried.ended(caller, id)).status, "Succeeded");
  });

  test("the dispatcher repeats a refused start, which leaves no event", async (t) => {
    const tried = await startQueue(tested, t);
    const caller = newCaller();
    tried.executor.refuse(new MucastError("unavailable", "not now", { retryAfter: 0 }));
    const { id } = await tried.submit(caller);
    const { order, end } = await tried.executor.next();
    assert.deepEqual([order.id, order.attempt], [id, 2]);
    end({ kind: "succeeded", record: recordOf(id) });
    await tried.ended(caller, id);
    const types = (await tried.events(caller, id)).map(({ type }) => type);
    assert.deepEqual(types, ["queued", "started", "succeeded"]);
  });

  test("a defect at the start ends the operation, whose problem holds only the defect's id", async (t) => {
    const tried = await startQueue(tested, t);
    const caller = newCaller();
    tried.executor.refuse(new TypeError("/srv/secret is undefined"));
    const { id } = await tried.submit(caller);
    const { status, error } = await tried.ended(caller, id);
    assert.deepEqual([status, error?.code, typeof error?.id], ["Failed", "internal", "string"]);
    assert.doesNotMatch(JSON.stringify(error), /secret|TypeError/);
  });

  test("an operation that is cancelled while no start succeeds becomes Canceled", async (t) => {
    const tried = await startQueue(tested, t);
    const caller = newCaller();
    const refusal = tried.executor.refuse(new MucastError("unavailable", "not now", { retryAfter: 0 }));
    const { id } = await tried.submit(caller);
    await refusal;
    await tried.operations.cancel(caller, id);
    const { status, error } = await tried.ended(caller, id);
    assert.deepEqual([status, error?.code], ["Canceled", "canceled"]);
  });

  test("the dispatcher stops a job over its time", async (t) => {
    const tried = await startQueue(tested, t, { job_seconds: 0 });
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const { status, error } = await tried.ended(caller, id);
    assert.deepEqual([status, error?.code], ["Failed", "timed_out"]);
  });

  test("a service's clock ahead of the database's clock costs a job no time", async (t) => {
    const tried = await startQueue(tested, t, { job_seconds: 60 });
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 90_000 });
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const { stops, end } = await tried.executor.next();
    await tried.stored(caller, id, "started");
    t.mock.timers.setTime(Date.now() + 86_400_000);
    await tried.operations.get(caller, id);
    assert.deepEqual(stops, []);
    end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await tried.ended(caller, id)).status, "Succeeded");
  });

  test("a long queue of one caller does not delay another caller", async (t) => {
    const tried = await startQueue(tested, t);
    const [many, one] = [newCaller(), newCaller()];
    for (let i = 0; i < 5; i++) await tried.submit(many);
    const first = await tried.executor.next();
    const { id } = await tried.submit(one);
    first.end({ kind: "succeeded", record: recordOf(first.order.id) });
    const second = await tried.executor.next();
    const third = await tried.executor.next();
    assert.ok([second, third].some(({ order }) => order.id === id));
  });

  test("two services share a queue and run each operation once", async (t) => {
    const other = await tested.another();
    const services = [await startQueue(tested, t), await startQueue({ ...tested, database: () => other }, t)];
    for (const { executor } of services) {
      void (async () => {
        for (;;) {
          const { order, end } = await executor.next();
          end({ kind: "succeeded", record: recordOf(order.id) });
        }
      })();
    }
    const caller = newCaller();
    const ids = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => (await services[i % 2]!.submit(caller)).id),
    );
    for (const id of ids) assert.equal((await services[0]!.ended(caller, id)).status, "Succeeded");
    const run = services.flatMap(({ executor }) => executor.executions.map(({ order }) => order.id));
    assert.deepEqual(run.toSorted(), ids.toSorted());
  });
});
