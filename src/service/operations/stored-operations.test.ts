import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { onEachDatabase } from "../database/databases.testing.ts";
import {
  failedWith,
  LOST,
  NO_PROGRESS,
  newCaller,
  PAYLOAD,
  recordOf,
  startQueue,
  TestedQueue,
} from "../queue/queue.testing.ts";
import { readOperation } from "../store/operation-rows.ts";

onEachDatabase((tested) => {
  beforeEach(() => tested.database().exec("truncate operations cascade"));

  test("what a signature may stand in is forgotten once an operation has ended", async (t) => {
    const tried = await startQueue(tested, t);
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    assert.match(execution.order.featureUrl, /SECRET/);
    execution.end(failedWith("fit_failed"));
    assert.equal((await tried.ended(caller, id)).status, "Failed");
    const row = await readOperation(tested.database(), id);
    assert.doesNotMatch(JSON.stringify(row), /SECRET/);
  });

  test("of submissions with one key at the same moment one is created", async (t) => {
    const tried = await startQueue(tested, t);
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
    const tried = await startQueue(tested, t);
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
    const tried = await startQueue(tested, t);
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

  test("old progress is forgotten, and who asks for it gets a snapshot first", async (t) => {
    const tried = await startQueue(tested, t, { events_kept: 10 });
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
});
