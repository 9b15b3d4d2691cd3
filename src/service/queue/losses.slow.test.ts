/** Which lost attempts count, and what an operation reports about those that end it. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { onBothDatabases, type TestDatabase } from "../database/databases.testing.ts";
import { claimOperation, renewLeases } from "../store/claim-operation.ts";
import { readOperation } from "../store/operation-rows.ts";
import { FakeExecutor } from "./fake-executor.testing.ts";
import { LeaseRecovery } from "./lease-recovery.ts";
import { LOST, newCaller, recordOf, startQueue, TestedQueue } from "./queue.testing.ts";

/** Starts a drain that waits for its jobs. @returns once the drain of the attempt is recorded. */
async function beginDrain(queue: TestedQueue, tested: TestDatabase, id: string): Promise<void> {
  void queue.dispatcher.drain(600_000);
  for (;;) {
    const row = await readOperation(tested.database(), id);
    if (row!.drained_attempt === row!.attempt) return;
  }
}

onBothDatabases((tested) => {
  beforeEach(() => tested.database().exec("truncate operations cascade"));

  test("a service that is killed while it drains costs no attempt, however often", async (t) => {
    const caller = newCaller();
    const queues = [await startQueue(tested, t)];
    const { id } = await queues[0]!.submit(caller);
    for (let killed = 1; killed <= 5; killed++) {
      const queue = queues.at(-1)!;
      assert.equal((await queue.executor.next()).order.attempt, killed);
      await queue.stored(caller, id, "started");
      await beginDrain(queue, tested, id);
      await queue.die();
      queues.push(await startQueue(tested, t));
    }
    const last = await queues.at(-1)!.executor.next();
    const { lost, losses } = (await readOperation(tested.database(), id))!;
    assert.deepEqual([lost, losses], [0, []]);
    last.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await queues.at(-1)!.ended(caller, id)).status, "Succeeded");
    for (const { executor } of queues) for (const execution of executor.executions) execution.end(LOST);
  });

  test("a job process that ends while its service drains costs no attempt", async (t) => {
    const first = await startQueue(tested, t);
    const caller = newCaller();
    const { id } = await first.submit(caller);
    (await first.executor.next()).end(LOST);
    const second = await first.executor.next();
    await beginDrain(first, tested, id);
    second.end(LOST);
    const next = await startQueue(tested, t);
    const third = await next.executor.next();
    assert.equal((await readOperation(tested.database(), id))!.lost, 1);
    third.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await next.ended(caller, id)).status, "Succeeded");
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
    await tested
      .database()
      .query("update operations set attempt = 5, lost = 4, losses = $1", [JSON.stringify(killed)]);
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

  test("losses of a service and of a process are counted separately", async (t) => {
    const caller = newCaller();
    const first = await startQueue(tested, t);
    const { id } = await first.submit(caller);
    await first.executor.next();
    await first.stored(caller, id, "started");
    await first.die();
    const second = await startQueue(tested, t);
    (await second.executor.next()).end({ kind: "lost", reason: "one" });
    (await second.executor.next()).end({ kind: "lost", reason: "two" });
    const { error } = await second.ended(caller, id);
    assert.match(
      error!.detail,
      /^the job was lost 3 times \(attempt 1: the service .*; attempt 2: one; attempt 3: two\)$/,
    );
    for (const execution of first.executor.executions) execution.end(LOST);
  });

  test("a drain is not recorded for executions that outlive the service", async (t) => {
    const first = await startQueue(tested, t, {}, new FakeExecutor(true));
    const { id } = await first.submit(newCaller());
    await first.executor.next();
    await first.close();
    assert.equal((await readOperation(tested.database(), id))!.drained_attempt, 0);
  });

  if (tested.kind === "pglite") return;

  test("a locked row delays only its own lease, which no other service takes meanwhile", async (t) => {
    const queue = new TestedQueue(tested.database());
    await queue.start({ dispatch: false });
    const ids = [(await queue.submit(newCaller())).id, (await queue.submit(newCaller())).id];
    await queue.notifications.close();
    const database = tested.database();
    const other = "elsewhere/1/1/x";
    for (const _ of ids) await claimOperation(database, other);
    let seconds = 0;
    t.mock.method(performance, "now", () => seconds * 1_000);
    const parts = { ...queue.parts, isRunning: () => false, adopt: () => undefined };
    const recovery = new LeaseRecovery(parts);
    const renewed = async () => (await renewLeases(database, other)).filter((lease) => lease.isRenewed);
    const owners = async () => Promise.all(ids.map(async (id) => (await readOperation(database, id))!.owner));
    await (await tested.another()).transaction(async (statements) => {
      await statements.query("select 1 from operations where id = $1 for update", [ids[0]]);
      for (; seconds < 120; seconds += 10) {
        assert.deepEqual(
          (await renewed()).map(({ id }) => id),
          [ids[1]],
        );
        await recovery.recoverAll(false);
      }
    });
    seconds += 10;
    await recovery.recoverAll(false);
    assert.deepEqual(await owners(), [other, other], "it has had no time to renew the lease");
    assert.equal((await renewed()).length, 2);
    seconds += 30;
    await recovery.recoverAll(false);
    assert.deepEqual(await owners(), [other, other]);
    for (let more = 0; more < 30; more += 10) {
      seconds += 10;
      await recovery.recoverAll(false);
    }
    assert.ok((await owners()).every((owner) => owner !== other));
  });
});
