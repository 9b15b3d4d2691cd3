/** What becomes of the jobs of a service that ends, in order or not: which attempts are repeated, and which count as lost. */
import assert from "node:assert/strict";
import { beforeEach, type TestContext, test } from "node:test";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { type StatusBlob, statusKey } from "../../contract/output/job-events.ts";
import { spaceOf } from "../blobs/storage.ts";
import { onEachDatabase, removeOperations } from "../database/databases.testing.ts";
import { readOperation } from "../store/attempts.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { Leases } from "./leases.ts";
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

/** The lines of a drain that name operations. */
function linesWithIds({ logged }: TestedQueue) {
  return logged.filter((line) => "operation_ids" in line);
}

onEachDatabase((tested) => {
  beforeEach(() => removeOperations(tested.database()));

  const read = async (id: string) => (await readOperation(tested.database(), id))!;
  const update = (id: string, values: { attempt?: number; lost?: number; losses?: string; owner?: string }) =>
    tested.database().write((db) => db.updateTable("operations").set(values).where("id", "=", id).execute());

  function setStart(id: string, seconds: number) {
    const attempt_started_at = tested.database().time(seconds);
    return tested
      .database()
      .write((db) => db.updateTable("operations").set({ attempt_started_at }).where("id", "=", id).execute());
  }

  /** Starts a drain that waits for its jobs. @returns once the drain of the attempt is recorded. */
  async function beginDrain(queue: TestedQueue, id: string): Promise<void> {
    void queue.dispatcher.drain(600_000);
    for (let row = await read(id); row.drained_attempt !== row.attempt; row = await read(id));
  }

  /** A service that runs an operation. */
  async function begin(t: TestContext, executor = new FakeExecutor()) {
    const first = await startQueue(tested, t, {}, executor);
    const caller = newCaller();
    const { id } = await first.submit(caller);
    const { order } = await first.executor.next();
    await first.stored(caller, id, "started");
    return { first, caller, id, order };
  }

  /** An operation whose execution outlives its service. */
  async function leaveRunning(t: TestContext) {
    const executor = new FakeExecutor(true);
    executor.obeys = false;
    const { first, ...begun } = await begin(t, executor);
    await first.close();
    return begun;
  }

  /** Ends the next execution of a queue as succeeded. */
  async function succeed(queue: TestedQueue, caller: ReturnType<typeof newCaller>, id: string) {
    const execution = await queue.executor.next();
    execution.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await queue.ended(caller, id)).status, "Succeeded");
    return execution;
  }

  test("an expired lease is anybody's, once, and a late writer changes nothing", async (t) => {
    const tried = await new TestedQueue(tested.database()).start({ dispatch: false });
    t.after(() => tried.close());
    const { id } = await tried.submit(newCaller());
    await tried.dispatcher.stopClaiming();
    const [holder, ...others] = [1, 2, 3].map(() => new Leases({ database: tested.database(), log: noLog }));
    await update(id, { owner: holder!.owner });
    const [lease] = await holder!.renew("operations");
    const taken = await Promise.all(others.map((leases) => leases.take("operations", lease!)));
    assert.deepEqual(taken.toSorted(), [false, true]);
    assert.deepEqual(await holder!.renew("operations"), []);
  });

  test("an adopted attempt keeps its remaining time by the database's clock", async (t) => {
    const { id, caller } = await leaveRunning(t);
    await setStart(id, -7_200);
    const second = await startQueue(tested, t, { job_seconds: 3_600 }, new FakeExecutor(true));
    assert.equal((await second.ended(caller, id)).error?.code, "timed_out");
  });

  test("a draining service releases a job that does not end, the next service runs it, and no loss is counted", async (t) => {
    const { first, caller, id } = await begin(t);
    await first.close();
    const { status, lost, owner } = await read(id);
    assert.deepEqual([status, lost, owner], ["NotStarted", 0, null]);
    assert.deepEqual(linesWithIds(first), [
      { message: "released operations to the queue", operations: 1, operation_ids: [id] },
    ]);
    const second = await startQueue(tested, t);
    const { order } = await succeed(second, caller, id);
    assert.deepEqual([order.id, order.attempt], [id, 2]);
  });

  test("a service takes over the jobs of a killed one: it repeats them, or reads their end from the status blob or output", async (t) => {
    const first = await startQueue(tested, t, { concurrent_jobs: 3, cores: 3 });
    const caller = newCaller();
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      ids.push((await first.submit(caller)).id);
      await first.executor.next();
    }
    await first.die();
    const second = new TestedQueue(tested.database());
    const status: StatusBlob = {
      ...{
        schema: "mucast.status/1",
        id: ids[1]!,
        attempt: 1,
        config_sha256: "",
        updated_at: new Date().toISOString(),
      },
      ...{ progress: null, warnings: [], timings: [], end: { record: recordOf(ids[1]!) } },
    };
    const own = second.store.within(spaceOf(caller.subject));
    await own.put(statusKey(ids[1]!, 1), JSON.stringify(status));
    await second.leaveOutput(caller, ids[2]!, CONFIG);
    await second.start();
    t.after(() => second.close());
    const { order } = await succeed(second, caller, ids[0]!);
    assert.deepEqual([order.id, order.attempt], [ids[0], 2]);
    for (const id of ids) assert.equal((await second.ended(caller, id)).status, "Succeeded");
    // The dead service's late reports of ends change nothing.
    for (const execution of first.executor.executions) execution.end(failedWith("fit_failed"));
    await first.close();
    for (const id of ids) assert.equal((await second.operations.get(caller, id)).status, "Succeeded");
  });

  test("a service starts and runs other operations while the storage is unreachable", async (t) => {
    const { first, caller, id } = await begin(t);
    await first.die();
    const second = new TestedQueue(tested.database());
    const asked = Promise.withResolvers<void>();
    t.mock.method(FolderStore.prototype, "stat", async () => {
      asked.resolve();
      throw new MucastError("blob_unavailable", "away");
    });
    t.after(() => second.close());
    await second.start();
    await asked.promise;
    const other = await second.submit(caller);
    await succeed(second, caller, other.id);
    assert.equal((await second.operations.get(caller, id)).status, "Running");
  });

  test("an attempt that is canceled or has no time left ends while the storage is unreachable", async (t) => {
    const { first, caller, id } = await begin(t);
    const late = await first.submit(caller);
    await first.executor.next();
    await first.stored(caller, late.id, "started");
    await first.die();
    await first.operations.cancel(caller, id);
    await setStart(late.id, -7_200);
    const refuse = () => Promise.reject(new MucastError("blob_unavailable", "away"));
    t.mock.method(FolderStore.prototype, "stat", refuse);
    const second = await startQueue(tested, t, { job_seconds: 3_600 });
    assert.equal((await second.ended(caller, id)).status, "Canceled");
    const { order } = await succeed(second, caller, late.id);
    assert.deepEqual([order.id, order.attempt], [late.id, 2]);
  });

  test("an execution that outlives its service runs on, and the next service adopts it", async (t) => {
    const { id, caller, order } = await leaveRunning(t);
    const { status, drained_attempt } = await read(id);
    assert.deepEqual([status, drained_attempt], ["Running", 0]);
    const second = await startQueue(tested, t, {}, new FakeExecutor(true));
    const adopted = await succeed(second, caller, id);
    assert.deepEqual([adopted.order, adopted.adopted], [order, `fake-${id}-1`]);
  });

  test("a service that is killed while it drains costs no attempt, however often", async (t) => {
    const caller = newCaller();
    const queues = [await startQueue(tested, t)];
    const { id } = await queues[0]!.submit(caller);
    for (let killed = 1; killed <= 5; killed++) {
      const queue = queues.at(-1)!;
      assert.equal((await queue.executor.next()).order.attempt, killed);
      await queue.stored(caller, id, "started");
      await beginDrain(queue, id);
      await queue.die();
      queues.push(await startQueue(tested, t));
    }
    const { lost, losses } = await read(id);
    assert.deepEqual([lost, losses], [0, []]);
    await succeed(queues.at(-1)!, caller, id);
    for (const { executor } of queues) for (const execution of executor.executions) execution.end(LOST);
  });

  test("five services may be killed under a job; the sixth loss ends it, and its error names every cause", async (t) => {
    const caller = newCaller();
    let queue = await startQueue(tested, t);
    const { id } = await queue.submit(caller);
    const cause = "the service that ran it was killed, crashed, or lost its machine";
    const killed = [1, 2, 3, 4].map((attempt) => ({ attempt, with: "service", reason: cause }));
    const first = await queue.executor.next();
    await queue.stored(caller, id, "started");
    await queue.die();
    await update(id, { attempt: 5, lost: 4, losses: JSON.stringify(killed) });
    queue = await startQueue(tested, t);
    const second = await queue.executor.next();
    assert.equal(second.order.attempt, 6, "five losses do not end it");
    await queue.stored(caller, id, "started");
    await queue.die();
    queue = await startQueue(tested, t);
    const { status, error } = await queue.ended(caller, id);
    for (const execution of [first, second]) execution.end(LOST);
    assert.deepEqual([status, error?.code], ["Failed", "execution_lost"]);
    const causes = [1, 2, 3, 4, 5, 6].map((attempt) => `attempt ${attempt}: ${cause}`).join("; ");
    assert.equal(error!.detail, `the job was lost 6 times (${causes})`);
  });
});
