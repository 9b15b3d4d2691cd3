import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { beforeEach, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import { onBothDatabases, withQuery } from "../database/databases.testing.ts";
import { claimOperation, renewLeases } from "../store/claim-operation.ts";
import { readOperation } from "../store/operation-rows.ts";
import { Dispatcher } from "./dispatcher.ts";
import { FakeExecutor } from "./fake-executor.testing.ts";
import { LeaseRecovery } from "./lease-recovery.ts";
import { CONFIG, failedWith, LOST, newCaller, recordOf, startQueue, TestedQueue } from "./queue.testing.ts";

/** The lines of a drain that name operations; it may record the drain in the database after them. */
function linesWithIds({ logged }: TestedQueue) {
  return logged.filter((line) => "operation_ids" in line);
}

onBothDatabases((tested) => {
  beforeEach(() => tested.database().exec("truncate operations cascade"));

  test("an adopted attempt keeps its remaining time by the database's clock", async (t) => {
    const first = await startQueue(tested, t, {}, new FakeExecutor(true));
    first.executor.obeys = false;
    const caller = newCaller();
    const { id } = await first.submit(caller);
    await first.executor.next();
    await first.stored(caller, id, "started");
    await first.close();
    await tested
      .database()
      .query("update operations set attempt_started_at = now() - interval '2 hours' where id = $1", [id]);
    await startQueue(tested, t, { job_seconds: 3_600 }, new FakeExecutor(true));
    assert.equal((await first.ended(caller, id)).error?.code, "timed_out");
  });

  test("a renewed lease is valid whatever the database's clock says, and one that is not renewed lapses", async (t) => {
    const tried = new TestedQueue(tested.database());
    await tried.start({ dispatch: false });
    const { id } = await tried.submit(newCaller());
    await tried.notifications.close();
    const database = tested.database();
    const other = "elsewhere/1/1/x";
    await claimOperation(database, other);
    let seconds = 0;
    const taken: string[] = [];
    const parts = { ...tried.parts, isRunning: () => false, adopt: () => undefined };
    t.mock.method(performance, "now", () => seconds * 1_000);
    const recovery = new LeaseRecovery({ ...parts, log: { ...parts.log, warn: () => void taken.push(id) } });
    for (; seconds < 60; seconds += 10) {
      await renewLeases(database, other);
      await database.exec("update operations set lease_until = lease_until - interval '1 day'");
      await recovery.recoverAll(false);
    }
    assert.equal((await readOperation(database, id))!.owner, other);
    for (; seconds < 80; seconds += 10) await recovery.recoverAll(false);
    assert.equal((await readOperation(database, id))!.owner, other, "for as long as a lease lasts");
    recovery.restartLeaseClocks();
    for (; seconds < 100; seconds += 10) await recovery.recoverAll(false);
    assert.equal((await readOperation(database, id))!.owner, other, "no service could renew it");
    seconds += 10;
    await recovery.recoverAll(false);
    assert.notEqual((await readOperation(database, id))!.owner, other);
    assert.ok(taken.length > 0);
  });

  test("a draining service releases a job that does not end, the next service runs it, and no loss is counted", async (t) => {
    const first = await startQueue(tested, t);
    const caller = newCaller();
    const { id } = await first.submit(caller);
    await first.executor.next();
    await first.close();
    const row = await readOperation(tested.database(), id);
    assert.deepEqual([row!.status, row!.lost, row!.owner], ["NotStarted", 0, null]);
    assert.deepEqual(linesWithIds(first), [
      { message: "released operations to the queue", operations: 1, operation_ids: [id] },
    ]);
    const second = await startQueue(tested, t);
    const again = await second.executor.next();
    assert.deepEqual([again.order.id, again.order.attempt], [id, 2]);
    again.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await second.ended(caller, id)).status, "Succeeded");
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
    second.statuses.set(`${ids[1]}.1`, {
      schema: "mucast.status/1",
      id: ids[1]!,
      attempt: 1,
      config_sha256: "",
      updated_at: "",
      progress: null,
      warnings: [],
      timings: [],
      end: { record: recordOf(ids[1]!) },
    });
    second.store.leaveOutput(ids[2]!, CONFIG);
    await second.start();
    t.after(() => second.close());
    const again = await second.executor.next();
    assert.deepEqual([again.order.id, again.order.attempt], [ids[0], 2]);
    again.end({ kind: "succeeded", record: recordOf(ids[0]!) });
    for (const id of ids) assert.equal((await second.ended(caller, id)).status, "Succeeded");
    // The dead service's late reports of ends change nothing.
    for (const execution of first.executor.executions) execution.end(failedWith("fit_failed"));
    await first.close();
    for (const id of ids) assert.equal((await second.operations.get(caller, id)).status, "Succeeded");
  });

  test("a service starts and runs other operations while the storage is unreachable", async (t) => {
    const first = await startQueue(tested, t);
    const caller = newCaller();
    const { id } = await first.submit(caller);
    await first.executor.next();
    await first.die();
    const second = new TestedQueue(tested.database());
    const asked = Promise.withResolvers<void>();
    t.mock.method(second.store, "stat", async () => {
      asked.resolve();
      throw new MucastError("blob_unavailable", "away");
    });
    t.after(() => second.close());
    await second.start();
    // The recovery tries at least once while the rest of the test runs.
    await asked.promise;
    const other = await second.submit(caller);
    const execution = await second.executor.next();
    assert.equal(execution.order.id, other.id);
    execution.end({ kind: "succeeded", record: recordOf(other.id) });
    assert.equal((await second.ended(caller, other.id)).status, "Succeeded");
    assert.equal((await second.operations.get(caller, id)).status, "Running");
  });

  test("a service keeps its lease that lapsed while the database was unreachable", async (t) => {
    const first = await startQueue(tested, t);
    const caller = newCaller();
    const { id } = await first.submit(caller);
    const execution = await first.executor.next();
    await tested.database().exec("update operations set lease_until = now() - interval '1 minute'");
    const second = await startQueue(tested, t);
    assert.equal((await readOperation(tested.database(), id))!.owner, first.parts.owner);
    execution.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await second.ended(caller, id)).status, "Succeeded");
  });

  test("the dispatcher runs the next attempt although the end of the previous one was stored late", async (t) => {
    const tried = new TestedQueue(tested.database());
    const secondBegun = Promise.withResolvers<void>();
    let isLate = true;
    const database = withQuery(tested.database(), async (ask, text, params) => {
      const answer = await ask<never>(text, params);
      if (!isLate || !text.includes("set status = 'NotStarted'")) return answer;
      isLate = false;
      await secondBegun.promise;
      throw new MucastError("unavailable", "the answer was lost");
    });
    const dispatcher = new Dispatcher({ ...tried.parts, database });
    await tried.start({ dispatch: false });
    await dispatcher.start(tried.notifications, false);
    t.after(async () => {
      await dispatcher.drain(0);
      await tried.close();
    });
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    (await tried.executor.next()).end(LOST);
    const second = await tried.executor.next();
    assert.deepEqual([second.order.attempt, second.workers], [2, [1]]);
    secondBegun.resolve();
    while (second.workers.length === 1) await setImmediate();
    assert.deepEqual(second.workers, [1, 2]);
    await tried.operations.cancel(caller, id);
    assert.equal((await tried.ended(caller, id)).status, "Canceled");
    assert.deepEqual(second.stops, ["canceled"]);
  });

  test("a service takes over the jobs of another process on this machine as soon as that has ended", async (t) => {
    const first = await startQueue(tested, t);
    const caller = newCaller();
    const { id } = await first.submit(caller);
    await first.executor.next();
    await first.dispatcher.stopClaiming();
    const dead = spawnSync("true").pid;
    const owner = first.parts.owner.replace(`/${process.pid}/`, `/${dead}/`);
    await tested.database().query("update operations set owner = $1 where id = $2", [owner, id]);
    const second = await startQueue(tested, t);
    const again = await second.executor.next();
    assert.deepEqual([again.order.id, again.order.attempt], [id, 2]);
    again.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await second.ended(caller, id)).status, "Succeeded");
    await first.close();
  });

  test("an execution that outlives its service runs on, and the next service adopts it", async (t) => {
    const first = await startQueue(tested, t, {}, new FakeExecutor(true));
    first.executor.obeys = false;
    const caller = newCaller();
    const { id } = await first.submit(caller);
    const { order } = await first.executor.next();
    await first.close();
    assert.equal((await readOperation(tested.database(), id))!.status, "Running");
    const second = await startQueue(tested, t, {}, new FakeExecutor(true));
    const adopted = await second.executor.next();
    assert.deepEqual([adopted.order, adopted.adopted], [order, `fake-${id}-1`]);
    adopted.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await second.ended(caller, id)).status, "Succeeded");
  });

  // It waits for ten seconds, and behaves the same on both databases.
  if (tested.kind === "postgres") return;

  test("draining ends although nothing can be stored, and the next service takes the jobs over", async (t) => {
    const first = await startQueue(tested, t);
    const caller = newCaller();
    const { id } = await first.submit(caller);
    await first.executor.next();
    const query = tested.database().query.bind(tested.database());
    const away = t.mock.method(
      tested.database(),
      "query",
      async (text: string, params?: readonly unknown[]) => {
        if (text.includes("set status = 'NotStarted'")) throw new MucastError("unavailable", "away");
        return query(text, params);
      },
    );
    await first.close();
    away.mock.restore();
    assert.equal((await readOperation(tested.database(), id))!.owner, null);
    assert.deepEqual(linesWithIds(first), [
      { message: "left running operations to other services", operations: 1, operation_ids: [id] },
    ]);
    const second = await startQueue(tested, t);
    const again = await second.executor.next();
    assert.deepEqual([again.order.id, again.order.attempt], [id, 2]);
    again.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await second.ended(caller, id)).status, "Succeeded");
  });
});
