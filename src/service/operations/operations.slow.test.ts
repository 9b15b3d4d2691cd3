import assert from "node:assert/strict";
import { beforeEach, describe, type TestContext, test } from "node:test";
import type { Updateable } from "kysely";
import {
  type OperationView,
  operationPageSchema,
  operationSchema,
} from "../../contract/api/operation-view.ts";
import {
  EVENT_TYPES,
  type Snapshot,
  type StoredEvent,
  type StoredEventType,
  storedEventSchema,
} from "../../contract/api/stored-event.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import { jsonBytes } from "../../contract/json/bounded-json.ts";
import type { EpochPoint, EventBatch, RunSummary } from "../../contract/output/job-events.ts";
import { type Failure, problemOf } from "../../contract/problems/problem.ts";
import { countCodes, SIZES } from "../../contract/schema/answer-limits.ts";
import { requireForecasts } from "../../jobs/shared/require-forecasts.ts";
import type { Caller } from "../auth/caller.ts";
import { newRow, onEachDatabase, removeOperations } from "../database/databases.testing.ts";
import type { Tables } from "../database/tables.ts";
import { canceledProblem } from "../queue/finish-attempt.ts";
import { failedWith, LOST, newCaller, PAYLOAD, recordOf, startQueue } from "../queue/queue.testing.ts";
import {
  claimOperation,
  endOperation,
  readOperation,
  recordProgress,
  recordStart,
  releaseOperation,
} from "../store/attempts.ts";
import { appendEvents, type NewEvent, readEvents } from "../store/events.ts";
import { viewOf } from "../store/operation-view.ts";
import { operationsOn, SteppedOperations } from "./operations.testing.ts";
import { insertOperation, type Submission } from "./operations.ts";

const URLS = {
  feature_url: "https://acct.example/models/data/feature_engine_1.json",
  data_extractor_url: "https://acct.example/models/data/data_extractor_1.json",
};
const NETWORKS = { "NN params": { "Dot prediction": { "current option": "mlp" } } };

function payloadOf(params: object, members: object = {}): string {
  return JSON.stringify({ ...URLS, ...members, config: { "ML params": params } });
}

function submission(given: Partial<Submission> = {}): Submission {
  return { operation: "run_ml_job", payload: payloadOf({ model: "ridge" }), ...given };
}

const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

async function eventsOf(operations: SteppedOperations, caller: Caller, id: string, after = 0) {
  const events: (StoredEvent | Snapshot)[] = [];
  const { signal } = new AbortController();
  for await (const event of operations.follow(caller, id, after, signal)) events.push(event);
  return events;
}

/** An event of each type. */
const EXAMPLES: Readonly<Record<StoredEventType, (operation: OperationView) => NewEvent>> = {
  queued: ({ operation }) => ({ type: "queued", data: { operation } }),
  started: () => ({ type: "started", data: { attempt: 1 } }),
  progress: () => ({ type: "progress", data: { stage: "fit", done: 1, total: null } }),
  warning: () => ({ type: "warning", data: { code: "long_gap", message: "A: a gap" } }),
  failure: () => ({ type: "failure", data: { ticker: "A", code: "fit_failed", message: "no" } }),
  epochs: () => ({ type: "epochs", data: { points: [pointAt(1)] } }),
  cancel_requested: () => ({ type: "cancel_requested", data: {} }),
  succeeded: (data) => ({ type: "succeeded", data }),
  failed: (data) => ({ type: "failed", data }),
  canceled: (data) => ({ type: "canceled", data }),
};

function pointAt(epoch: number): EpochPoint {
  return { ticker: "A", epoch, train_loss: 1 / epoch, validation_loss: null };
}

function failuresOf(count: number, mark: string): Failure[] {
  return Array.from({ length: count }, (_, i) => {
    const ticker = `${i}${mark}`;
    return { ticker, code: "insufficient_history", message: `${ticker} has 1 row of 30` };
  });
}

/** The error of a job of which every ticker has failed. */
function allFailed(failures: readonly Failure[]): MucastError {
  try {
    requireForecasts([], failures, { asOf: 0, unused: () => [] });
  } catch (error) {
    return error as MucastError;
  }
  return assert.fail("the job has no ticker");
}

onEachDatabase((tested) => {
  beforeEach(() => removeOperations(tested.database()));

  /** Operations that start nothing by themselves, with a caller. */
  async function open(t: TestContext, options: Parameters<typeof operationsOn>[1] = {}) {
    const parts = await operationsOn(tested.database(), options);
    t.after(() => parts.notifications.close());
    const operations = new SteppedOperations(parts);
    const caller = newCaller();
    const submit = async (given: Partial<Submission> = {}, owner = caller) =>
      (await operations.submit(owner, submission(given))).operation;
    const list = async (query: Partial<Parameters<typeof operations.list>[1]> = {}) =>
      (await operations.list(caller, { limit: 10, ...query })).operations.map(({ id }) => id);
    return { parts, operations, caller, submit, list };
  }

  const update = (id: string, values: Updateable<Tables["operations"]>) =>
    tested.database().write((db) => db.updateTable("operations").set(values).where("id", "=", id).execute());

  describe("submitting", () => {
    test("an operation waits to start, and get returns what submit returned", async (t) => {
      const { operations, caller } = await open(t);
      const { operation, created } = await operations.submit(caller, submission());
      assert.equal(created, true);
      assert.deepEqual(operationSchema.parse(operation), operation);
      const { status, started_at, finished_at, result, error } = operation;
      const expected = ["NotStarted", null, null, null, null];
      assert.deepEqual([status, started_at, finished_at, result, error], expected);
      assert.deepEqual(await operations.get(caller, operation.id), operation);
    });

    test("a faulty payload is refused, and nothing is stored", async (t) => {
      const { submit, list } = await open(t);
      for (const [payload, code] of [
        ["{", "invalid_request"],
        [payloadOf({ model: "ridge", folds: 3 }), "invalid_request"],
        [payloadOf({ model: "rigde" }), "unknown_model"],
      ] as const)
        await assert.rejects(submit({ payload }), { code });
      assert.deepEqual(await list(), []);
    });

    test("the same key and payload give the same operation, even while or after it ends", async (t) => {
      const { parts, operations, caller } = await open(t);
      const keyed = submission({ idempotencyKey: "key-1" });
      const many = await Promise.all(Array.from({ length: 12 }, () => operations.submit(caller, keyed)));
      const ids = new Set(many.map(({ operation }) => operation.id));
      const [id] = ids as unknown as [string];
      assert.deepEqual([ids.size, many.filter(({ created }) => created).length], [1, 1]);
      const spaced = { ...keyed, payload: JSON.stringify(JSON.parse(keyed.payload), null, 2) };
      await operations.start(id);
      const problem = problemOf(new Error("x"));
      const ending = endOperation(parts, { id, attempt: 1 }, { status: "Failed", problem });
      const [, during] = await Promise.all([ending, operations.submit(caller, spaced)]);
      const later = await operations.submit(caller, keyed);
      assert.deepEqual([during.operation.id, later.operation.id, later.created], [id, id, false]);
      assert.equal(later.operation.status, "Failed");
    });

    test("a key with another payload is a conflict, and with another caller a new operation", async (t) => {
      const { submit } = await open(t);
      const first = await submit({ idempotencyKey: "key-1" });
      const networks = JSON.stringify({ ...URLS, config: NETWORKS });
      for (const other of [
        { payload: payloadOf({ model: "lasso" }) },
        { operation: "run_dl_job", payload: networks } as const,
      ])
        await assert.rejects(submit({ ...other, idempotencyKey: "key-1" }), ({ code, data }: MucastError) => {
          assert.deepEqual([code, data.path], ["idempotency_conflict", "Idempotency-Key"]);
          return true;
        });
      assert.notEqual((await submit({ idempotencyKey: "key-1" }, newCaller())).id, first.id);
    });

    test("a full queue refuses only its caller, until an operation no longer waits", async (t) => {
      const { operations, caller, submit } = await open(t, { queuedMost: 2 });
      const { id } = await submit();
      await submit();
      await assert.rejects(submit(), ({ code, data }: MucastError) => {
        assert.deepEqual([code, data.retryAfter, data.limit], ["rate_limited", 30, 2]);
        return true;
      });
      await submit({}, newCaller());
      await operations.cancel(caller, id);
      await submit();
    });

    test("without a storage nothing new is accepted, and a repeated key still gets its operation", async (t) => {
      let isGone = false;
      const requireStorage = () => {
        if (isGone) throw new Error("the storage is gone");
      };
      const { submit } = await open(t, { requireStorage });
      const { id } = await submit({ idempotencyKey: "key-1" });
      isGone = true;
      await assert.rejects(submit({ idempotencyKey: "key-2" }), /the storage is gone/);
      assert.equal((await submit({ idempotencyKey: "key-1" })).id, id);
    });

    test("the row of an ended operation holds no signature, and its view stays the same", async (t) => {
      const tried = await startQueue(tested, t);
      const caller = newCaller();
      const { id } = await tried.submit(caller);
      const execution = await tried.executor.next();
      assert.match(execution.order.featureUrl, /SECRET/);
      const { model, inputs } = await tried.operations.get(caller, id);
      assert.equal(model, "ridge");
      assert.deepEqual(inputs, { feature: "feature_engine_1.json", data_extractor: "data_extractor_1.json" });
      execution.end(failedWith("fit_failed"));
      const ended = await tried.ended(caller, id);
      assert.deepEqual([ended.status, ended.model, ended.inputs], ["Failed", model, inputs]);
      assert.match(PAYLOAD, /SECRET/);
      assert.doesNotMatch(JSON.stringify(await readOperation(tested.database(), id)), /SECRET/);
    });
  });

  describe("reading and listing", () => {
    test("another caller's operation and an unknown one are not found", async (t) => {
      const { parts, caller, submit, list } = await open(t);
      const operations = new SteppedOperations(parts);
      const other = await submit({}, newCaller());
      const { signal } = new AbortController();
      for (const id of [other.id, "unknown"])
        for (const read of [
          () => operations.get(caller, id),
          () => operations.payload(caller, id),
          () => operations.cancel(caller, id),
          () => operations.forecast(caller, { id }),
          () => operations.verdict(caller, id),
          () => operations.wait(caller, id, 60),
          () => operations.follow(caller, id, 0, signal).next(),
        ])
          await assert.rejects(read, ({ code, message, data }: MucastError) => {
            assert.deepEqual([code, data.path], ["not_found", "id"]);
            assert.equal(message, `there is no operation "${id}"`);
            return true;
          });
      assert.deepEqual(await list(), []);
    });

    test("the payload of an operation can be submitted again, also after its end", async (t) => {
      const { operations, caller, submit } = await open(t);
      const payload = payloadOf({ model: "ridge" }, { tags: ["a"], end: "2024-01-02" });
      const { id } = await submit({ payload });
      await operations.start(id);
      await operations.end(id, "Canceled");
      const kept = await operations.payload(caller, id);
      assert.deepEqual(JSON.parse(kept), JSON.parse(payload));
      const again = await submit({ payload: kept });
      assert.equal(await operations.payload(caller, again.id), kept);
    });

    test("pages list each operation once, newest first, even if one is submitted in between", async (t) => {
      const { operations, caller, submit } = await open(t);
      const ids: string[] = [];
      for (let n = 0; n < 5; n++) ids.unshift((await submit()).id);
      await submit({}, newCaller());
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await operations.list(caller, { limit: 2, cursor });
        seen.push(...page.operations.map(({ id }) => id));
        cursor = page.next_cursor ?? undefined;
        if (cursor !== undefined) await submit();
      } while (cursor !== undefined);
      assert.deepEqual(seen, ids);
    });

    test("a list has the requested status, job and tags, and no cursor on its last page", async (t) => {
      const { operations, caller, submit, list } = await open(t);
      const tagged = (tags: readonly string[], owner = caller) =>
        submit({ payload: payloadOf({ model: "ridge" }, { tags }) }, owner);
      const both = await tagged(["b", "a,{}"]);
      await operations.start(both.id);
      await operations.end(both.id);
      const one = await tagged(["b"]);
      await operations.start(one.id);
      const networks = JSON.stringify({ ...URLS, config: NETWORKS });
      const none = await submit({ operation: "run_dl_job", payload: networks });
      await tagged(["b"], newCaller());
      assert.deepEqual([both.tags, one.tags, none.tags], [["b", "a,{}"], ["b"], undefined]);
      for (const [query, expected] of [
        [{ status: "Running" }, [one]],
        [{ status: "NotStarted" }, [none]],
        [{ operation: "run_ml_job" }, [one, both]],
        [{ operation: "run_dl_job", status: "NotStarted" }, [none]],
        [{ operation: "run_dl_job", status: "Running" }, []],
        [{ tag: ["b"] }, [one, both]],
        [{ tag: ["a,{}", "b"] }, [both]],
        [{ tag: ["B"] }, []],
        [{ tag: [] }, [none, one, both]],
      ] as const)
        assert.deepEqual(
          await list(query),
          expected.map(({ id }) => id),
          JSON.stringify(query),
        );
      assert.equal((await operations.list(caller, { limit: 3 })).next_cursor, null);
    });

    test("a cursor reveals no more than its page, outlasts that page's last operation, and is one that a list gave", async (t) => {
      const { operations, caller, submit, list } = await open(t);
      const ids: string[] = [];
      for (let nth = 0; nth < 4; nth++) {
        const { id } = await submit();
        ids.push(id);
        // Further apart than a clock that is set back would make them.
        await update(id, { created_at: new Date(Date.now() - (4 - nth) * 3_600_000) });
      }
      const { operations: page, next_cursor } = await operations.list(caller, { limit: 2 });
      const cursor = next_cursor!;
      const { id, created_at } = page.at(-1)!;
      assert.equal(Buffer.from(cursor, "base64url").toString(), `${id} ${created_at}`);
      assert.deepEqual(await list({ cursor }), [ids[1], ids[0]]);
      assert.deepEqual((await operations.list(newCaller(), { limit: 10, cursor })).operations, []);
      await tested
        .database()
        .write((db) => db.deleteFrom("operations").where("id", "in", [ids[1]!, ids[2]!]).execute());
      assert.deepEqual(await list({ cursor }), [ids[0]]);
      // PostgreSQL accepts neither of the dates.
      const invalid = ["o12", `${id} 0000-01-01T00:00:00.000Z`, `${id} 2023-02-30T00:00:00.000Z`];
      const encoded = invalid.map((text) => Buffer.from(text).toString("base64url"));
      for (const wrong of [...encoded, "x".repeat(200), "x", "12", ""])
        await assert.rejects(list({ cursor: wrong }), ({ code, message, data }: MucastError) => {
          assert.deepEqual([code, data.path], ["invalid_request", "cursor"]);
          assert.equal(message, "cursor: is not one that a list gave; leave it out for the first page");
          return true;
        });
    });

    test("the queue counts waiting and running operations, of all callers and the caller's own, and no ended ones", async (t) => {
      const { operations, caller, submit } = await open(t);
      const other = newCaller();
      await operations.start((await submit()).id);
      await submit();
      await submit({}, other);
      await operations.cancel(other, (await submit({}, other)).id);
      const all = { waiting: 2, running: 1 };
      assert.deepEqual(await operations.queue(caller), { ...all, own: { waiting: 1, running: 1 } });
      assert.deepEqual(await operations.queue(other), { ...all, own: { waiting: 1, running: 0 } });
    });

    for (const [what, mark] of [
      ["long", "x".repeat(3_000)],
      ["emoji", "😀".repeat(400)],
      ["escaped to six bytes each", "\u0001".repeat(900)],
    ] as const)
      test(`an operation, its events and a page stay within their sizes where names are ${what}`, async (t) => {
        const { parts, operations, caller, submit } = await open(t);
        const failures = failuresOf(300, mark);
        const warnings = failures.map(
          ({ ticker, message }) => ({ code: "no_prices", ticker, message }) as const,
        );
        const problem = problemOf(allFailed(failuresOf(2_000, mark)));
        const { id } = await submit();
        await operations.start(id);
        await recordProgress(parts, { id, attempt: 1 }, { failures, warnings });
        await endOperation(parts, { id, attempt: 1 }, { status: "Failed", problem });
        const view = operationSchema.parse(await operations.get(caller, id));
        assert.ok(jsonBytes(view) <= SIZES.operation, `${jsonBytes(view)}`);
        assert.ok(view.warnings.length > 3 && view.failures!.length > 3);
        assert.deepEqual(view.error!.failure_counts, { insufficient_history: 2_000 });
        for (const event of await readEvents(tested.database(), id, 0, 10_000))
          assert.ok(jsonBytes(event) <= SIZES.event, `${event.type} ${jsonBytes(event)}`);
        const row = (await readOperation(tested.database(), id))!;
        const lists = { warnings: JSON.stringify(row.warnings), failures: JSON.stringify(row.failures) };
        const copies = Array.from({ length: 100 }, (_, nth) => ({
          ...newRow(`copy-${nth}`, caller.subject),
          ...{ ...lists, error: JSON.stringify(row.error) },
        }));
        await tested.database().write((db) => db.insertInto("operations").values(copies).execute());
        const seen = new Set<string>();
        let pages = 0;
        for (let cursor: string | undefined; ; ) {
          const page = operationPageSchema.parse(await operations.list(caller, { limit: 100, cursor }));
          pages += 1;
          assert.ok(jsonBytes(page) <= SIZES.page, `${jsonBytes(page)}`);
          for (const listed of page.operations) {
            const texts = [...listed.warnings, ...(listed.failures ?? [])].map(({ message }) => message);
            assert.ok(texts.length >= 6 && texts.every((text) => text.endsWith("…")));
            assert.ok(listed.error!.advice.endsWith("."), listed.id);
            seen.add(listed.id);
          }
          if (page.next_cursor === null) break;
          cursor = page.next_cursor;
        }
        assert.deepEqual([seen.size, pages > 1], [101, true]);
      });
  });

  describe("cancelling and waiting", () => {
    test("cancel ends a waiting operation, and does not change one that has ended", async (t) => {
      const { operations, caller, submit } = await open(t);
      const { id } = await submit();
      const canceled = await operations.cancel(caller, id);
      const { status, started_at, result, error } = canceled;
      assert.deepEqual([status, started_at, result, error?.code], ["Canceled", null, null, "canceled"]);
      assert.deepEqual(await operations.cancel(caller, id), canceled);
      const events = await eventsOf(operations, caller, id);
      assert.deepEqual(typesOf(events), ["queued", "cancel_requested", "canceled"]);
      assert.deepEqual(events.at(-1)!.data, canceled);
    });

    test("a running operation that is cancelled, however often, ends once its job has stopped", async (t) => {
      const tried = await startQueue(tested, t);
      tried.executor.obeys = false;
      const caller = newCaller();
      const { id } = await tried.submit(caller);
      const execution = await tried.executor.next();
      await tried.stored(caller, id, "started");
      for (let n = 0; n < 2; n++) assert.equal((await tried.operations.cancel(caller, id)).status, "Running");
      execution.end(LOST);
      const { status, error } = await tried.ended(caller, id);
      assert.deepEqual([status, error?.code], ["Canceled", "canceled"]);
      const types = typesOf(await tried.events(caller, id));
      assert.deepEqual(types, ["queued", "started", "cancel_requested", "canceled"]);
    });

    test("wait returns the operation at its end, after its seconds, or when its signal aborts", async (t) => {
      const { operations, caller, submit } = await open(t);
      const { id } = await submit();
      assert.equal((await operations.wait(caller, id, 0)).status, "NotStarted");
      const controller = new AbortController();
      const aborted = operations.wait(caller, id, 60, controller.signal);
      controller.abort();
      assert.equal((await aborted).status, "NotStarted");
      const waiting = operations.wait(caller, id, 60);
      await operations.start(id);
      await operations.end(id);
      const ended = await waiting;
      assert.equal(ended.status, "Succeeded");
      assert.deepEqual(await operations.wait(caller, id, 60), ended);
    });
  });

  describe("attempts", () => {
    const claim = (owner = "me") => claimOperation(tested.database(), owner);

    test("a refusal that is stored twice changes no later attempt", async (t) => {
      const { submit } = await open(t);
      const { id } = await submit();
      const database = tested.database();
      const first = (await claim("first"))!;
      assert.equal(await releaseOperation(database, first, "refused", 0), true);
      assert.equal((await claim("second"))!.attempt, first.attempt + 1);
      assert.equal(await releaseOperation(database, first, "refused", 0), false);
      const { status, owner } = (await readOperation(database, id))!;
      assert.deepEqual([status, owner], ["Running", "second"]);
    });

    test("an attempt has one event for its start, however often the start is stored", async (t) => {
      const { parts, submit } = await open(t);
      await submit();
      const row = (await claim())!;
      assert.equal(await recordStart(parts, row, "1-2"), true);
      assert.equal(await recordStart(parts, row, "1-2"), false);
      assert.deepEqual(typesOf(await readEvents(tested.database(), row.id, 0, 10)), ["queued", "started"]);
    });

    test("a newcomer waits for at most one job of each other caller, however long their queues are", async (t) => {
      const { parts } = await open(t);
      const insert = (id: string, caller: string) =>
        insertOperation(parts, newRow(id, caller), { ...parts, blobs: [], queued: 100 });
      for (let n = 0; n < 5; n++) for (const caller of ["ann", "ben"]) await insert(`${caller}-${n}`, caller);
      const served: string[] = [];
      for (let n = 0; n < 4; n++) {
        if (n === 2) await insert("cas-0", "cas");
        const row = (await claim())!;
        served.push(row.caller);
        await endOperation(parts, row, { status: "Canceled", problem: canceledProblem() });
      }
      assert.deepEqual(served, ["ann", "ben", "cas", "ann"]);
    });
  });

  describe("events", () => {
    /** An operation that runs, and reports. */
    async function running(t: TestContext, events_kept = 1_000) {
      const opened = await open(t);
      const { id } = await opened.submit();
      await opened.operations.start(id);
      const parts = { ...opened.parts, settings: { events_kept } };
      const record = (batch: EventBatch) => recordProgress(parts, { id, attempt: 1 }, batch);
      const types = async () => typesOf(await readEvents(tested.database(), id, 0, 10_000));
      return { ...opened, parts, id, record, types };
    }

    test("a reader gets the existing events, then each as it happens, up to the final one", async (t) => {
      const { operations, caller, submit } = await open(t);
      const { id } = await submit();
      const reader = operations.follow(caller, id, 0, new AbortController().signal);
      const first = (await reader.next()).value!;
      assert.deepEqual([first.type, first.data], ["queued", { operation: "run_ml_job" }]);
      const second = reader.next();
      await operations.start(id);
      assert.deepEqual((await second).value!.data, { attempt: 1 });
      const third = reader.next();
      await operations.end(id);
      const last = (await third).value!;
      assert.deepEqual([last.type, last.data], ["succeeded", await operations.get(caller, id)]);
      assert.equal((await reader.next()).done, true);
      const all = await eventsOf(operations, caller, id);
      for (const event of all) storedEventSchema.parse(event);
      const seqs = all.map(({ seq, operation_id }) => [seq, operation_id]);
      assert.deepEqual(
        seqs,
        [1, 2, 3].map((seq) => [seq, id]),
      );
      assert.deepEqual(await eventsOf(operations, caller, id, 1), all.slice(1));
      assert.deepEqual(await eventsOf(operations, caller, id, 3), []);
    });

    test("a reader of events that are gone, or have yet to happen, gets a snapshot and then the kept ones", async (t) => {
      const { operations, caller, id } = await running(t);
      await operations.prune(id);
      const reader = operations.follow(caller, id, 0, new AbortController().signal);
      const snapshot = (await reader.next()).value!;
      assert.deepEqual([snapshot.type, snapshot.seq], ["snapshot", 1]);
      assert.deepEqual(snapshot.data, await operations.get(caller, id));
      const kept = (await reader.next()).value!;
      assert.deepEqual([kept.type, kept.seq], ["started", 2]);
      const next = reader.next();
      await operations.end(id);
      const last = (await next).value!;
      assert.deepEqual([last.type, last.seq], ["succeeded", 3]);
      const numbered = async (after: number) =>
        (await eventsOf(operations, caller, id, after)).map(({ seq, type }) => `${seq} ${type}`);
      assert.deepEqual(await numbered(0), ["1 snapshot", "2 started", "3 succeeded"]);
      assert.deepEqual(await numbered(1), ["2 started", "3 succeeded"]);
      assert.deepEqual(await numbered(4), ["2 snapshot", "3 succeeded"]);
    });

    test("a reader stops when its signal aborts", async (t) => {
      const { operations, caller, submit } = await open(t);
      const controller = new AbortController();
      const reader = operations.follow(caller, (await submit()).id, 0, controller.signal);
      await reader.next();
      const next = reader.next();
      controller.abort();
      assert.equal((await next).done, true);
    });

    test("every type of event is notified and reaches a follower as its schema says", async (t) => {
      const { parts, operations, caller, submit } = await open(t);
      for (const type of EVENT_TYPES) {
        const operation = await submit();
        const notified = Promise.withResolvers<StoredEventType>();
        const stop = parts.notifications.onEvent((kind, id) => {
          if (id === operation.id && (kind !== "queued" || type === "queued")) notified.resolve(kind);
        });
        await operations.tell(operation.id, EXAMPLES[type](operation));
        assert.equal(await notified.promise, type);
        stop();
        const followed = operations.follow(caller, operation.id, 1, AbortSignal.timeout(600_000));
        const { value } = await followed.next();
        assert.equal(storedEventSchema.parse(value).type, type);
        assert.equal((await followed.return()).done, true);
      }
    });

    test("failures, epochs and counts become events and stand in the operation", async (t) => {
      const { id, record } = await running(t);
      // A NUL, which jsonb would refuse.
      const failures = failuresOf(2, "\u0000");
      const counts = { warnings: { no_prices: 3 }, failures: countCodes(failures) };
      const epochs = { points: [pointAt(1), { ...pointAt(2), member: 1 }], left_out: 4 };
      await record({ failures, epochs, counts });
      await record({ failures: failures.toReversed() });
      const view = operationSchema.parse(viewOf((await readOperation(tested.database(), id))!));
      assert.deepEqual(
        [view.failures, view.failure_counts, view.warning_counts],
        [failures, { insufficient_history: 2 }, { no_prices: 3 }],
      );
      const events = await readEvents(tested.database(), id, 2, 10);
      for (const event of events) storedEventSchema.parse(event);
      assert.deepEqual(
        events.map(({ type, data }) => [type, data]),
        [
          ["failure", failures[0]],
          ["failure", failures[1]],
          ["epochs", epochs],
        ],
      );
    });

    test("a summary becomes part of the operation until another attempt starts, and is no event", async (t) => {
      const { id, record, types } = await running(t);
      const summary: RunSummary = {
        ...{ model: "ridge", fit: "per_ticker", as_of: "2024-12-30", tickers: 2, failed: 1, verdict: null },
      };
      await record({ summary });
      await record({ progress: { stage: "write", done: 1, total: 1 } });
      const row = (await readOperation(tested.database(), id))!;
      assert.deepEqual(operationSchema.parse(viewOf(row)).summary, summary);
      assert.deepEqual(await types(), ["queued", "started", "progress"]);
      await releaseOperation(tested.database(), row, "drained", 0);
      assert.equal(viewOf((await claimOperation(tested.database(), "me"))!).summary, undefined);
    });

    test("pruning removes progress before other events, and epochs displace none", async (t) => {
      const { operations, caller, id, record, types } = await running(t, 10);
      await record({ warnings: [{ code: "long_gap", message: "A: a gap", ticker: "A" }] });
      for (let n = 1; n <= 24; n++) await record({ epochs: { points: [pointAt(n)] } });
      const { value } = await operations.follow(caller, id, 0, new AbortController().signal).next();
      assert.equal(value?.type, "queued", "who asks for all of them gets no snapshot");
      for (let done = 1; done <= 30; done++) await record({ progress: { stage: "fit", done, total: 30 } });
      const kept = await types();
      assert.deepEqual(
        kept.filter((type) => type !== "epochs"),
        [...["queued", "started", "warning"], ...Array(7).fill("progress")],
      );
      assert.equal(kept.length, 20);
    });

    test("of large epochs the service keeps the newest few megabytes", async (t) => {
      const { id, record } = await running(t);
      const points = Array.from({ length: 800 }, (_, n) => ({ ...pointAt(n + 1), ticker: "x".repeat(128) }));
      const sent = Math.ceil((34 * 2 ** 20) / jsonBytes({ points }));
      for (let nth = 0; nth < sent; nth++) await record({ epochs: { points } });
      const kept = await readEvents(tested.database(), id, 2, 10_000);
      const bytes = kept.reduce((sum, { data }) => sum + jsonBytes(data), 0);
      assert.ok(bytes <= 32 * 2 ** 20 && bytes > 31 * 2 ** 20, `${bytes}`);
      assert.equal(kept.at(-1)!.seq, sent + 2);
    });

    test("a snapshot replaces removed events, every kept event comes once, and a reader that breaks off misses none", async (t) => {
      const { operations, caller, id, record } = await running(t, 10);
      for (let done = 1; done <= 30; done++)
        await record({
          progress: { stage: "fit", done, total: 30 },
          ...(done % 10 === 0 && { epochs: { points: [pointAt(done)] } }),
        });
      await operations.end(id);
      const all = await eventsOf(operations, caller, id);
      const rows = await readEvents(tested.database(), id, 0, 10_000);
      assert.deepEqual(
        all.filter(({ type }) => type !== "snapshot"),
        rows,
      );
      assert.deepEqual(typesOf(all.slice(0, 3)), ["queued", "started", "snapshot"]);
      assert.deepEqual(all[2]!.data, await operations.get(caller, id));
      assert.equal(all.length, rows.length + 1, "one snapshot stands for all that was removed");
      for (const [at, { seq }] of all.entries()) {
        if (at > 0) assert.ok(seq > all[at - 1]!.seq, "the numbers rise");
        const resumed = await eventsOf(operations, caller, id, seq);
        const [again, rest] = [resumed, all.slice(at + 1)].map((events) =>
          events.filter(({ type }) => type !== "snapshot"),
        );
        assert.deepEqual(again, rest, `from ${seq}`);
        if (all[at + 1]?.seq === seq + 1) assert.notEqual(resumed[0]!.type, "snapshot");
      }
    });

    test("a reader gets a snapshot if no later event is kept", async (t) => {
      const { parts, operations, caller, id } = await running(t, 10);
      const { database } = parts;
      const others = Array.from({ length: 10 }, () => EXAMPLES.warning);
      const events = [...others, EXAMPLES.progress].map((make) => make({} as OperationView));
      await database.write((db) => appendEvents(parts, db, id, events));
      const last = 2 + events.length;
      const reader = operations.follow(caller, id, last - 1, AbortSignal.timeout(600_000));
      const { value } = await reader.next();
      assert.deepEqual([value?.type, value?.seq], ["snapshot", last]);
      const next = reader.next();
      await operations.tell(id, EXAMPLES.warning({} as OperationView));
      assert.deepEqual([(await next).value?.type, (await next).value?.seq], ["warning", last + 1]);
      await reader.return();
    });

    test("of an operation with an output, the events end with its result", async (t) => {
      const { operations, caller, id } = await running(t);
      await operations.end(id);
      const last = (await eventsOf(operations, caller, id)).at(-1)! as StoredEvent;
      assert.ok(last.type === "succeeded");
      assert.deepEqual(last.data.result, recordOf(id));
    });
  });
});
