import assert from "node:assert/strict";
import { beforeEach, describe, type TestContext, test } from "node:test";
import type { Updateable } from "kysely";
import { type OperationView, operationPageSchema } from "../../contract/api/operation-view.ts";
import { EVENT_TYPES, type StoredEventType, storedEventSchema } from "../../contract/api/stored-event.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { jsonBytes } from "../../contract/json/bounded-json.ts";
import { SIZES } from "../../contract/schema/answer-limits.ts";
import { newRow, onEachDatabase, removeOperations } from "../database/databases.testing.ts";
import type { Tables } from "../database/tables.ts";
import { canceledProblem } from "../queue/finish-attempt.ts";
import {
  failedWith,
  LOST,
  newCaller,
  PAYLOAD,
  recordOf,
  startQueue,
  TestedQueue,
} from "../queue/queue.testing.ts";
import { readOperation, recordProgress } from "../store/attempts.ts";
import { appendEvents, type NewEvent, pruneEvents } from "../store/events.ts";
import { operationsOn, SteppedOperations } from "./operations.testing.ts";
import { operationsSuite } from "./operations-suite.testing.ts";

/** An event of each type. */
const EXAMPLES: Readonly<Record<StoredEventType, (operation: OperationView) => NewEvent>> = {
  queued: ({ operation }) => ({ type: "queued", data: { operation } }),
  started: () => ({ type: "started", data: { attempt: 1 } }),
  progress: () => ({ type: "progress", data: { stage: "fit", done: 1, total: null } }),
  warning: () => ({ type: "warning", data: { code: "long_gap", message: "A: a gap" } }),
  failure: () => ({ type: "failure", data: { ticker: "A", code: "fit_failed", message: "no" } }),
  epochs: () => ({
    type: "epochs",
    data: { points: [{ ticker: "A", epoch: 1, train_loss: 1, validation_loss: null }] },
  }),
  cancel_requested: () => ({ type: "cancel_requested", data: {} }),
  succeeded: (data) => ({ type: "succeeded", data }),
  failed: (data) => ({ type: "failed", data }),
  canceled: (data) => ({ type: "canceled", data }),
};

onEachDatabase((tested) => {
  beforeEach(() => removeOperations(tested.database()));

  describe("the suite of operations", () =>
    operationsSuite(async (t, options) => {
      const parts = await operationsOn(tested.database(), options);
      t.after(() => parts.notifications.close());
      const operations = new SteppedOperations(parts);
      return {
        operations,
        start: (id) => operations.start(id),
        end: (id, status) => operations.end(id, status),
        prune: (id) => operations.prune(id),
      };
    }));

  const update = (id: string, values: Updateable<Tables["operations"]>) =>
    tested.database().write((db) => db.updateTable("operations").set(values).where("id", "=", id).execute());

  /** Submits operations that wait, oldest first. */
  async function waiting(t: TestContext, count: number) {
    const queue = await new TestedQueue(tested.database()).start({ dispatch: false });
    t.after(() => queue.close());
    const caller = newCaller();
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push((await queue.submit(caller)).id);
    return { caller, ids, operations: queue.operations };
  }

  test("a cursor reveals no more than the previous page, whatever other callers submit", async (t) => {
    const { caller, ids, operations } = await waiting(t, 3);
    const { operations: page, next_cursor } = await operations.list(caller, { limit: 1 });
    assert.deepEqual(
      Buffer.from(next_cursor!, "base64url").toString(),
      `${page[0]!.id} ${page[0]!.created_at}`,
    );
    const { caller: other, operations: others } = await waiting(t, 2);
    const rest = await operations.list(caller, { limit: 10, cursor: next_cursor! });
    assert.deepEqual(
      rest.operations.map(({ id }) => id),
      [ids[1], ids[0]],
    );
    const asked = await others.list(other, { limit: 10, cursor: next_cursor! });
    assert.ok(asked.operations.every(({ id }) => !ids.includes(id)));
    // PostgreSQL accepts neither of the dates.
    const invalid = ["o12", `${ids[0]} 0000-01-01T00:00:00.000Z`, `${ids[0]} 2023-02-30T00:00:00.000Z`];
    const encoded = invalid.map((text) => Buffer.from(text).toString("base64url"));
    for (const cursor of [...encoded, "x".repeat(200), ""]) {
      await assert.rejects(operations.list(caller, { limit: 10, cursor }), {
        code: "invalid_request",
        message: "cursor: is not one that a list gave; leave it out for the first page",
      });
    }
  });

  test("a page continues even if retention has removed the last operation of the previous page", async (t) => {
    const { caller, ids, operations } = await waiting(t, 4);
    // Further apart than a clock that is set back would make them.
    for (const [nth, id] of ids.entries()) {
      const created_at = new Date(Date.now() - (ids.length - nth) * 3_600_000);
      await update(id, { created_at });
    }
    const { next_cursor } = await operations.list(caller, { limit: 2 });
    await tested
      .database()
      .write((db) => db.deleteFrom("operations").where("id", "in", [ids[1]!, ids[2]!]).execute());
    const rest = await operations.list(caller, { limit: 2, cursor: next_cursor! });
    assert.deepEqual(
      rest.operations.map(({ id }) => id),
      [ids[0]],
    );
  });

  test("a list of operations with very long names stays within its size, and its pages have all of them", async (t) => {
    const { caller, ids, operations } = await waiting(t, 1);
    const long = "x".repeat(3_000);
    const warnings = Array.from({ length: 12 }, (_, nth) => ({
      code: "no_prices",
      ticker: `${nth}${long}`,
      message: `${nth}${long} has no price`,
    }));
    const listed = JSON.stringify(warnings);
    const error = JSON.stringify({ ...canceledProblem(), detail: long, failures: warnings });
    await update(ids[0]!, { warnings: listed, failures: listed, error });
    await tested.database().write((db) =>
      db
        .insertInto("operations")
        .values(
          Array.from({ length: 100 }, (_, nth) => ({
            ...newRow(`copy-${nth}`, caller.subject),
            ...{ warnings: listed, failures: listed, error },
          })),
        )
        .execute(),
    );
    const whole = await operations.get(caller, ids[0]!);
    assert.ok(whole.warnings.every(({ message }) => message.length > 3_000));
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ; ) {
      const page = await operations.list(caller, { limit: 100, cursor });
      pages += 1;
      operationPageSchema.parse(page);
      assert.ok(jsonBytes(page) <= SIZES.page, `${jsonBytes(page)}`);
      for (const view of page.operations) {
        const texts = [...view.warnings, ...(view.failures ?? [])].map(({ message }) => message);
        assert.ok(texts.length >= 6 && texts.every((text) => text.endsWith("…")));
        assert.ok(view.error!.detail.endsWith("…") && view.error!.advice.endsWith("."), view.id);
        seen.push(view.id);
      }
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    assert.deepEqual([new Set(seen).size, seen.length], [101, 101]);
    assert.ok(pages > 2);
  });

  test("the row of an ended operation holds no signature", async (t) => {
    const tried = await startQueue(tested, t);
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    assert.match(execution.order.featureUrl, /SECRET/);
    const described = async () => {
      const { model, inputs } = await tried.operations.get(caller, id);
      return { model, inputs };
    };
    const running = await described();
    assert.equal(running.model, "ridge");
    assert.match(JSON.stringify(running.inputs), /^\{"feature":"[\w.]+","data_extractor":"[\w.]+"\}$/);
    execution.end(failedWith("fit_failed"));
    assert.equal((await tried.ended(caller, id)).status, "Failed");
    assert.deepEqual(await described(), running);
    const row = await readOperation(tested.database(), id);
    assert.doesNotMatch(JSON.stringify(row), /SECRET/);
  });

  test("concurrent submissions with one key create one operation", async (t) => {
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

  test("without a storage nothing new is accepted, and a repeated key still gets its operation", async (t) => {
    const gone = new MucastError("unavailable", "the storage is gone");
    let isGone = false;
    const tried = await new TestedQueue(tested.database()).start({
      dispatch: false,
      requireStorage: () => {
        if (isGone) throw gone;
      },
    });
    t.after(() => tried.close());
    const caller = newCaller();
    const { id } = await tried.submit(caller, "key-1");
    isGone = true;
    await assert.rejects(tried.submit(caller, "key-2"), gone);
    assert.equal((await tried.submit(caller, "key-1")).id, id);
    isGone = false;
    assert.notEqual((await tried.submit(caller, "key-2")).id, id);
  });

  test("a running operation that is cancelled ends once its job has stopped", async (t) => {
    const tried = await startQueue(tested, t);
    tried.executor.obeys = false;
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    await tried.stored(caller, id, "started");
    assert.equal((await tried.operations.cancel(caller, id)).status, "Running");
    assert.equal((await tried.operations.cancel(caller, id)).status, "Running");
    execution.end(LOST);
    assert.equal((await tried.ended(caller, id)).status, "Canceled");
    const types = (await tried.events(caller, id)).map(({ type }) => type);
    assert.deepEqual(types, ["queued", "started", "cancel_requested", "canceled"]);
  });

  test("every type of event is notified and reaches a follower as its schema says", async (t) => {
    const tried = await new TestedQueue(tested.database()).start({ dispatch: false });
    t.after(() => tried.close());
    const { database } = tried.parts;
    const caller = newCaller();
    for (const type of EVENT_TYPES) {
      const operation = await tried.submit(caller);
      const notified = Promise.withResolvers<StoredEventType>();
      const stop = tried.notifications.onEvent((kind, id) => {
        if (id === operation.id && (kind !== "queued" || type === "queued")) notified.resolve(kind);
      });
      await database.write((db) => appendEvents(tried.parts, db, operation.id, [EXAMPLES[type](operation)]));
      assert.equal(await notified.promise, type);
      stop();
      const followed = tried.operations.follow(caller, operation.id, 1, AbortSignal.timeout(600_000));
      const { value } = await followed.next();
      assert.equal(storedEventSchema.parse(value).type, type);
      assert.equal((await followed.return()).done, true);
    }
  });

  test("a snapshot replaces removed events, and every kept event comes once", async (t) => {
    const tried = await startQueue(tested, t, { events_kept: 10 });
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    const execution = await tried.executor.next();
    // The dispatcher stores the start after the executor has started.
    await tried.stored(caller, id, "started");
    for (let done = 1; done <= 30; done++) {
      const epochs = { points: [{ ticker: "A", epoch: done, train_loss: 1, validation_loss: 1 }] };
      const batch = {
        progress: { stage: "fit", done, total: 30 },
        ...(done % 10 === 0 ? { epochs } : {}),
      } as const;
      await recordProgress(tried.parts, { id, attempt: 1 }, batch);
    }
    execution.end({ kind: "succeeded", record: recordOf(id) });
    const ended = await tried.ended(caller, id);
    const all = await tried.events(caller, id);
    const stored = tested
      .database()
      .db.selectFrom("events")
      .select(["seq", "type"])
      .where("operation_id", "=", id);
    const rows = await stored.orderBy("seq").execute();
    const kept = all.filter(({ type }) => type !== "snapshot").map(({ seq, type }) => ({ seq, type }));
    assert.deepEqual(kept, rows);
    const [queued, started, snapshot] = all;
    assert.deepEqual([queued!.type, started!.type, snapshot!.type], ["queued", "started", "snapshot"]);
    assert.deepEqual(snapshot!.data, ended);
    assert.equal(all.length, rows.length + 1, "one snapshot stands for all that was removed");
    assert.equal(Object.groupBy(all, ({ type }) => type).epochs?.length, 3);
    for (const [at, { seq }] of all.entries()) {
      if (at > 0) assert.ok(seq > all[at - 1]!.seq, "the numbers rise");
      const resumed = await tried.events(caller, id, seq);
      assert.deepEqual(
        resumed.filter(({ type }) => type !== "snapshot"),
        all.slice(at + 1).filter(({ type }) => type !== "snapshot"),
        `a reader that breaks off at ${seq} misses none`,
      );
      if (all[at + 1]?.seq === seq + 1) assert.notEqual(resumed[0]!.type, "snapshot");
    }
  });

  test("a reader gets a snapshot if no later event is kept", async (t) => {
    const tried = await startQueue(tested, t, { events_kept: 10 });
    const caller = newCaller();
    const { id } = await tried.submit(caller);
    await tried.executor.next();
    for await (const { type } of tried.operations.follow(caller, id, 0, AbortSignal.timeout(600_000)))
      if (type === "started") break;
    const { database } = tried.parts;
    const others = Array.from({ length: 10 }, () => EXAMPLES.warning);
    const types = [...others, EXAMPLES.progress].map((make) => make({} as OperationView));
    const last = await database.write(async (db) => {
      const newest = await appendEvents(tried.parts, db, id, types);
      await pruneEvents(database, db, id, newest, 10);
      return newest;
    });
    const reader = tried.operations.follow(caller, id, last - 1, AbortSignal.timeout(600_000));
    const { value } = await reader.next();
    assert.deepEqual([value?.type, value?.seq], ["snapshot", last]);
    const next = reader.next();
    await database.write((db) => appendEvents(tried.parts, db, id, [EXAMPLES.warning({} as OperationView)]));
    assert.deepEqual([(await next).value?.type, (await next).value?.seq], ["warning", last + 1]);
    await reader.return();
  });
});
