import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { beforeEach, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import { claimOperation, renewLeases } from "../store/claim-operation.ts";
import { readOperation } from "../store/operation-rows.ts";
import { Dispatcher } from "./dispatcher.ts";
import { FakeExecutor } from "./fake-executor.testing.ts";
import { LeaseRecovery } from "./lease-recovery.ts";
import { NO_PROGRESS, newCaller, PAYLOAD, recordOf, TestedQueue } from "./queue.testing.ts";

const LOST = { kind: "lost", reason: "killed" } as const;
const CONFIG = JSON.stringify(JSON.parse(PAYLOAD).config);
const failed = (code: "fit_failed" | "output_failed") =>
  ({
    kind: "failed",
    problem: { type: "", title: "", status: 422, code, detail: "", advice: "" },
  }) as const;

onEachDatabase((tested) => {
  beforeEach(() => tested.database().exec("truncate operations cascade"));

  async function queue(
    t: { after: (end: () => Promise<void>) => void },
    ...args: [
      ...settings: ConstructorParameters<typeof TestedQueue> extends [unknown, ...infer R] ? R : never,
    ]
  ): Promise<TestedQueue> {
    const started = await new TestedQueue(tested.database(), ...args).start();
    t.after(() => started.close());
    return started;
  }

  test("an operation is queued, started, told of and ended, its events numbered without a gap", async (t) => {
    const tried = await queue(t);
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    assert.deepEqual([execution.order.id, execution.order.attempt], [id, 1]);
    assert.equal(execution.order.config, CONFIG);
    execution.listener.onEvent({ kind: "progress", stage: "fit", done: 3, total: 7 });
    execution.listener.onEvent({ kind: "warning", warning: { code: "long_gap", message: "A: a gap" } });
    execution.end({ kind: "succeeded", record: recordOf(id) });
    const view = await tried.ended(caller, id);
    assert.equal(view.status, "Succeeded");
    assert.deepEqual(view.result, recordOf(id));
    assert.deepEqual(view.progress, { stage: "fit", done: 3, total: 7 });
    assert.deepEqual(view.warnings, [{ code: "long_gap", message: "A: a gap" }]);
    const events = await tried.events(caller, id);
    assert.deepEqual(
      events.map(({ seq, type }) => `${seq} ${type}`),
      ["1 queued", "2 started", "3 warning", "4 progress", "5 succeeded"],
    );
    assert.deepEqual(events.at(-1)!.data, view);
  });

  test("what a signature may stand in is forgotten once an operation has ended", async (t) => {
    const tried = await queue(t);
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    assert.match(execution.order.featureUrl, /SECRET/);
    execution.end(failed("fit_failed"));
    assert.equal((await tried.ended(caller, id)).status, "Failed");
    const row = await readOperation(tested.database(), id);
    assert.doesNotMatch(JSON.stringify(row), /SECRET/);
  });

  test("of submissions with one key at the same moment one is created", async (t) => {
    const tried = await queue(t);
    const caller = newCaller();
    const all = await Promise.all(Array.from({ length: 12 }, () => tried.submit(caller, "key-1")));
    assert.equal(new Set(all.map(({ id }) => id)).size, 1);
    const submission = { operation: "run_dl_job", payload: PAYLOAD, idempotencyKey: "key-1" } as const;
    const networks = PAYLOAD.replace(
      '"ML params":{"model":"ridge"}',
      '"NN params":{"Dot prediction":{"current option":"mlp"}}',
    );
    await assert.rejects(
      tried.operations.submit(caller, { ...submission, payload: networks }),
      (error) => error instanceof MucastError && error.code === "idempotency_conflict",
    );
    assert.equal((await tried.submit(newCaller(), "key-1")).id === all[0]!.id, false);
  });

  test("nobody sees or stops another caller's operation", async (t) => {
    const tried = await queue(t);
    const { id } = await tried.submit(newCaller());
    const other = newCaller();
    const notFound = (error: unknown) => error instanceof MucastError && error.code === "not_found";
    await assert.rejects(tried.operations.get(other, id), notFound);
    await assert.rejects(tried.operations.cancel(other, id), notFound);
    await assert.rejects(tried.events(other, id), notFound);
    assert.deepEqual((await tried.operations.list(other, { limit: 10 })).operations, []);
    (await tried.executor.next()).end({ kind: "succeeded", record: recordOf(id) });
  });

  test("a caller's operations come in pages, newest first, each once", async (t) => {
    const tried = await new TestedQueue(tested.database()).start({ dispatch: false });
    t.after(() => tried.close());
    const caller = newCaller();
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) ids.unshift((await tried.submit(caller)).id);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await tried.operations.list(caller, { limit: 3, cursor, status: "NotStarted" });
      seen.push(...page.operations.map(({ id }) => id));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    assert.deepEqual(seen, ids);
    assert.deepEqual((await tried.operations.list(caller, { limit: 3, status: "Failed" })).operations, []);
    for (const id of ids) await tried.operations.cancel(caller, id);
  });

  test("a full queue takes no more of that caller", async (t) => {
    const tried = await new TestedQueue(tested.database()).start({ dispatch: false, queuedMost: 2 });
    t.after(() => tried.close());
    const caller = newCaller();
    const ids = [(await tried.submit(caller)).id, (await tried.submit(caller)).id];
    await assert.rejects(
      tried.submit(caller),
      (error) => error instanceof MucastError && error.code === "rate_limited",
    );
    const other = newCaller();
    await tried.operations.cancel(other, (await tried.submit(other)).id);
    for (const id of ids) await tried.operations.cancel(caller, id);
  });

  test("an attempt that vanishes is made once more, and a second one ends the operation", async (t) => {
    const tried = await queue(t);
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    (await tried.executor.next()).end(LOST);
    const second = await tried.executor.next();
    assert.equal(second.order.attempt, 2);
    second.end(LOST);
    const { status, error } = await tried.ended(caller, id);
    assert.deepEqual([status, error?.code], ["Failed", "execution_lost"]);
  });

  test("an output that is there has succeeded, whatever its execution said", async (t) => {
    const tried = await queue(t);
    const caller = newCaller();
    for (const end of [LOST, failed("output_failed")]) {
      const { id } = await tried.submit(caller);
      const execution = await tried.executor.next();
      tried.store.leaveOutput(id, CONFIG);
      execution.end(end);
      const { status, result } = await tried.ended(caller, id);
      assert.deepEqual([status, result?.output_name], ["Succeeded", `ml_engine_${id}.json`]);
    }
  });

  test("an output of another config is not taken for the operation's", async (t) => {
    const tried = await queue(t);
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    tried.store.leaveOutput(id, `${CONFIG} `);
    execution.end(failed("output_failed"));
    assert.equal((await tried.ended(caller, id)).error?.code, "output_failed");
  });

  test("what waits is cancelled at once and never started", async (t) => {
    const tried = await new TestedQueue(tested.database()).start({ dispatch: false });
    t.after(() => tried.close());
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const view = await tried.operations.cancel(caller, id);
    assert.deepEqual([view.status, view.error?.code, view.started_at], ["Canceled", "canceled", null]);
    assert.deepEqual(await tried.operations.cancel(caller, id), view);
    assert.deepEqual(
      (await tried.events(caller, id)).map(({ type }) => type),
      ["queued", "cancel_requested", "canceled"],
    );
  });

  test("what runs is cancelled once it has stopped", async (t) => {
    const tried = await queue(t);
    tried.executor.obeys = false;
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    await tried.told(caller, id, "started");
    assert.equal((await tried.operations.cancel(caller, id)).status, "Running");
    assert.equal((await tried.operations.cancel(caller, id)).status, "Running");
    execution.end(LOST);
    assert.equal((await tried.ended(caller, id)).status, "Canceled");
    const types = (await tried.events(caller, id)).map(({ type }) => type);
    assert.deepEqual(types, ["queued", "started", "cancel_requested", "canceled"]);
  });

  test("a job that succeeds while it is being cancelled has succeeded", async (t) => {
    const tried = await queue(t);
    tried.executor.obeys = false;
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    await tried.operations.cancel(caller, id);
    execution.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await tried.ended(caller, id)).status, "Succeeded");
  });

  test("a start that is refused is told to nobody, and is made again", async (t) => {
    const tried = await queue(t);
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

  test("a start that meets a defect ends the operation, which tells an id of it alone", async (t) => {
    const tried = await queue(t);
    const caller = newCaller();
    tried.executor.refuse(new TypeError("/srv/secret is undefined"));
    const { id } = await tried.submit(caller);
    const { status, error } = await tried.ended(caller, id);
    assert.deepEqual([status, error?.code, typeof error?.id], ["Failed", "internal", "string"]);
    assert.doesNotMatch(JSON.stringify(error), /secret|TypeError/);
  });

  test("what is cancelled while no start succeeds is Canceled", async (t) => {
    const tried = await queue(t);
    const caller = newCaller();
    const refusal = tried.executor.refuse(new MucastError("unavailable", "not now", { retryAfter: 0 }));
    const { id } = await tried.submit(caller);
    await refusal;
    await tried.operations.cancel(caller, id);
    const { status, error } = await tried.ended(caller, id);
    assert.deepEqual([status, error?.code], ["Canceled", "canceled"]);
  });

  test("a job over its time is stopped", async (t) => {
    const tried = await queue(t, { job_seconds: 0 });
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const { status, error } = await tried.ended(caller, id);
    assert.deepEqual([status, error?.code], ["Failed", "timed_out"]);
  });

  test("a service's clock that is ahead of the database's costs a job none of its time", async (t) => {
    const tried = await queue(t, { job_seconds: 60 });
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 90_000 });
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const { stops, end } = await tried.executor.next();
    await tried.told(caller, id, "started");
    t.mock.timers.setTime(Date.now() + 86_400_000);
    await tried.operations.get(caller, id);
    assert.deepEqual(stops, []);
    end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await tried.ended(caller, id)).status, "Succeeded");
  });

  test("what is adopted has the time that its attempt has left by the database's clock", async (t) => {
    const first = await queue(t, {}, new FakeExecutor(true));
    first.executor.obeys = false;
    const caller = newCaller();
    const { id } = await first.submit(caller);
    await first.executor.next();
    await first.told(caller, id, "started");
    await first.close();
    await tested
      .database()
      .query("update operations set attempt_started_at = now() - interval '2 hours' where id = $1", [id]);
    await queue(t, { job_seconds: 3_600 }, new FakeExecutor(true));
    assert.equal((await first.ended(caller, id)).error?.code, "timed_out");
  });

  test("what waits for its next attempt is not kept waiting where the database's clock was put back", async (t) => {
    const tried = await new TestedQueue(tested.database()).start({ dispatch: false });
    t.after(() => tried.close());
    const { id } = await tried.submit(newCaller());
    await tested.database().exec("update operations set not_before = now() + interval '1 day'");
    const later = await queue(t);
    assert.equal((await later.executor.next()).order.id, id);
  });

  test("a lease that is prolonged is believed whatever the database's clock says, and one that is not has lapsed", async () => {
    const tried = new TestedQueue(tested.database());
    await tried.start({ dispatch: false });
    const { id } = await tried.submit(newCaller());
    await tried.notifications.close();
    const database = tested.database();
    const other = "elsewhere/1/1/x";
    await claimOperation(database, other);
    let seconds = 0;
    const taken: string[] = [];
    const parts = { ...tried.parts, isRunning: () => false, begin: () => undefined };
    const recovery = new LeaseRecovery(
      { ...parts, log: { ...parts.log, warn: () => void taken.push(id) } },
      () => seconds * 1_000,
    );
    for (; seconds < 60; seconds += 10) {
      await renewLeases(database, other);
      await database.exec("update operations set lease_until = lease_until - interval '1 day'");
      await recovery.all(false);
    }
    assert.equal((await readOperation(database, id))!.owner, other);
    for (; seconds < 80; seconds += 10) await recovery.all(false);
    assert.equal((await readOperation(database, id))!.owner, other, "for as long as a lease lasts");
    recovery.restartLeaseClocks();
    for (; seconds < 100; seconds += 10) await recovery.all(false);
    assert.equal((await readOperation(database, id))!.owner, other, "no service could prolong it");
    seconds += 10;
    await recovery.all(false);
    assert.notEqual((await readOperation(database, id))!.owner, other);
    assert.ok(taken.length > 0);
  });

  test("draining hands back what does not end, and the next service runs it; that counts as no loss", async (t) => {
    const first = await queue(t);
    const caller = newCaller();
    const { id } = await first.submit(caller);
    await first.executor.next();
    await first.close();
    const row = await readOperation(tested.database(), id);
    assert.deepEqual([row!.status, row!.lost, row!.owner], ["NotStarted", 0, null]);
    const second = await queue(t);
    const again = await second.executor.next();
    assert.deepEqual([again.order.id, again.order.attempt], [id, 2]);
    again.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await second.ended(caller, id)).status, "Succeeded");
  });

  test("what a killed service ran is taken over: made again, or copied from its status blob or its output", async (t) => {
    const first = await queue(t, { concurrent_jobs: 3, cores: 3 });
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
    // The dead one comes back late and is not listened to.
    for (const execution of first.executor.executions) execution.end(failed("fit_failed"));
    await first.close();
    for (const id of ids) assert.equal((await second.operations.get(caller, id)).status, "Succeeded");
  });

  test("a storage that is away keeps no service from starting, nor other operations from running", async (t) => {
    const first = await queue(t);
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
    // Once or more: it is looked at again while what follows takes its time.
    await asked.promise;
    const other = await second.submit(caller);
    const execution = await second.executor.next();
    assert.equal(execution.order.id, other.id);
    execution.end({ kind: "succeeded", record: recordOf(other.id) });
    assert.equal((await second.ended(caller, other.id)).status, "Succeeded");
    assert.equal((await second.operations.get(caller, id)).status, "Running");
  });

  test("a lease that lapsed while the database was away is its service's to keep", async (t) => {
    const first = await queue(t);
    const caller = newCaller();
    const { id } = await first.submit(caller);
    const execution = await first.executor.next();
    await tested.database().exec("update operations set lease_until = now() - interval '1 minute'");
    const second = await queue(t);
    assert.equal((await readOperation(tested.database(), id))!.owner, first.parts.owner);
    execution.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await second.ended(caller, id)).status, "Succeeded");
  });

  test("the next attempt is looked after though the end of the one before was written down late", async (t) => {
    const tried = new TestedQueue(tested.database());
    const secondBegun = Promise.withResolvers<void>();
    const database = tried.parts.database;
    const parts = { ...tried.parts, database: { ...database } };
    let isLate = true;
    parts.database.query = async (text, params) => {
      const answer = await database.query(text, params);
      if (!isLate || !text.includes("set status = 'NotStarted'")) return answer as never;
      isLate = false;
      await secondBegun.promise;
      throw new MucastError("unavailable", "the answer was lost");
    };
    const dispatcher = new Dispatcher(parts);
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
    assert.deepEqual([second.order.attempt, dispatcher.coresTaken], [2, 2]);
    secondBegun.resolve();
    while (dispatcher.coresTaken > 1) await setImmediate();
    await tried.operations.cancel(caller, id);
    assert.equal((await tried.ended(caller, id)).status, "Canceled");
    assert.deepEqual(second.stops, ["canceled"]);
  });

  test("what a process on this machine ran is taken over as soon as it is gone", async (t) => {
    const first = await queue(t);
    const caller = newCaller();
    const { id } = await first.submit(caller);
    await first.executor.next();
    await first.dispatcher.stopClaiming();
    const dead = spawnSync("true").pid;
    const owner = first.parts.owner.replace(`/${process.pid}/`, `/${dead}/`);
    await tested.database().query("update operations set owner = $1 where id = $2", [owner, id]);
    const second = await queue(t);
    const again = await second.executor.next();
    assert.deepEqual([again.order.id, again.order.attempt], [id, 2]);
    again.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await second.ended(caller, id)).status, "Succeeded");
    await first.close();
  });

  test("what outlives its service runs on, and the next service adopts it", async (t) => {
    const first = await queue(t, {}, new FakeExecutor(true));
    first.executor.obeys = false;
    const caller = newCaller();
    const { id } = await first.submit(caller);
    const { order } = await first.executor.next();
    await first.close();
    assert.equal((await readOperation(tested.database(), id))!.status, "Running");
    const second = await queue(t, {}, new FakeExecutor(true));
    const adopted = await second.executor.next();
    assert.deepEqual([adopted.order, adopted.adopted], [order, `fake-${id}-1`]);
    adopted.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await second.ended(caller, id)).status, "Succeeded");
  });

  test("a long queue of one caller does not keep another waiting", async (t) => {
    const tried = await queue(t);
    const [many, one] = [newCaller(), newCaller()];
    for (let i = 0; i < 5; i++) await tried.submit(many);
    const first = await tried.executor.next();
    const { id } = await tried.submit(one);
    first.end({ kind: "succeeded", record: recordOf(first.order.id) });
    const second = await tried.executor.next();
    const third = await tried.executor.next();
    assert.ok([second, third].some(({ order }) => order.id === id));
  });

  test("two services share a queue: each operation runs once", async (t) => {
    const services = [await queue(t), await queue(t)];
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

  test("old progress is forgotten, and who asks for it gets a snapshot first", async (t) => {
    const tried = await queue(t, { events_kept: 10 });
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    const { recordProgress } = await import("../store/record-progress.ts");
    for (let done = 1; done <= 30; done++) {
      const news = { ...NO_PROGRESS, progress: { stage: "fit", done, total: 30 } } as const;
      const { webhooks, database } = tried.parts;
      await recordProgress(database, { id, attempt: 1 }, news, { events: 10, webhooks });
    }
    execution.end({ kind: "succeeded", record: recordOf(id) });
    await tried.ended(caller, id);
    const events = await tried.events(caller, id, 3);
    assert.deepEqual([events[0]!.type, events.length], ["snapshot", 1]);
    const { rows } = await tested
      .database()
      .query<{ type: string }>("select type from events where operation_id = $1 order by seq", [id]);
    const types = rows.map(({ type }) => type);
    assert.deepEqual(types, ["queued", "started", ...Array(7).fill("progress"), "succeeded"]);
    const late = await tried.events(caller, id, events[0]!.seq - 2);
    assert.deepEqual(
      late.map(({ type }) => type),
      ["progress", "succeeded"],
    );
  });

  // It takes its time, and asks nothing of the database.
  if (tested.kind === "postgres") return;

  test("draining ends although nothing can be written down, and what ran is taken over", async (t) => {
    const first = await queue(t);
    const caller = newCaller();
    const { id } = await first.submit(caller);
    await first.executor.next();
    const { query } = tested.database();
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
    const second = await queue(t);
    const again = await second.executor.next();
    assert.deepEqual([again.order.id, again.order.attempt], [id, 2]);
    again.end({ kind: "succeeded", record: recordOf(id) });
    assert.equal((await second.ended(caller, id)).status, "Succeeded");
  });
});
