import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, type TestContext, test } from "node:test";
import { operationSchema } from "../../contract/api/operation-view.ts";
import { type Snapshot, type StoredEvent, storedEventSchema } from "../../contract/api/stored-event.ts";
import type { Caller } from "../auth/caller.ts";
import type { Operations, Submission } from "./operations.ts";

/** An implementation of Operations, and what its workers do to an operation. */
export interface TestedOperations {
  readonly operations: Operations;
  /** Starts the first attempt of the one waiting operation. */
  start(id: string): Promise<void>;
  end(id: string, status: "Succeeded" | "Canceled"): Promise<void>;
  /** Removes all events except the newest. */
  prune(id: string): Promise<void>;
}

interface OpenOptions {
  /** Maximum number of waiting operations of a caller. */
  readonly queuedMost?: number;
}

type OpenOperations = (t: TestContext, options?: OpenOptions) => Promise<TestedOperations>;

/** Declares the tests that every implementation of Operations must pass. @param open creates one without operations. */
export function operationsSuite(open: OpenOperations): void {
  describe("submitting", () => submittingSuite(open));
  describe("reading and listing", () => readingSuite(open));
  describe("cancelling and waiting", () => cancellingSuite(open));
  describe("following events", () => followingSuite(open));
}

function submittingSuite(open: OpenOperations): void {
  test("an operation waits to start, and get returns what submit returned", async (t) => {
    const { operations } = await open(t);
    const caller = newCaller();
    const { operation, created } = await operations.submit(caller, submission());
    assert.equal(created, true);
    assert.deepEqual(operationSchema.parse(operation), operation);
    const { status, started_at, finished_at, result, error } = operation;
    assert.deepEqual(
      [status, started_at, finished_at, result, error],
      ["NotStarted", null, null, null, null],
    );
    assert.deepEqual(await operations.get(caller, operation.id), operation);
  });

  test("a faulty payload is refused, and nothing is stored", async (t) => {
    const { operations } = await open(t);
    const caller = newCaller();
    for (const [payload, code] of [
      ["{", "invalid_request"],
      [payloadOf({ model: "ridge", folds: 3 }), "invalid_request"],
      [payloadOf({ model: "rigde" }), "unknown_model"],
    ] as const) {
      await assert.rejects(operations.submit(caller, { operation: "run_ml_job", payload }), { code });
    }
    assert.deepEqual((await operations.list(caller, { limit: 10 })).operations, []);
  });

  test("the same key and payload give the same operation, even after it has ended", async (t) => {
    const { operations, start, end } = await open(t);
    const caller = newCaller();
    const keyed = submission({ idempotencyKey: "key-1" });
    const first = await operations.submit(caller, keyed);
    const spaced = { ...keyed, payload: JSON.stringify(JSON.parse(keyed.payload), null, 2) };
    assert.deepEqual(await operations.submit(caller, spaced), { ...first, created: false });
    await start(first.operation.id);
    await end(first.operation.id, "Succeeded");
    const again = await operations.submit(caller, keyed);
    assert.deepEqual(
      [again.operation.id, again.operation.status, again.created],
      [first.operation.id, "Succeeded", false],
    );
  });

  test("a key with another payload is a conflict, and with another caller a new operation", async (t) => {
    const { operations } = await open(t);
    const caller = newCaller();
    const keyed = submission({ idempotencyKey: "key-1" });
    const first = await operations.submit(caller, keyed);
    const other = { ...keyed, payload: payloadOf({ model: "lasso" }) };
    await assert.rejects(operations.submit(caller, other), (error: ThrownError) => {
      assert.equal(error.code, "idempotency_conflict");
      assert.equal(error.data.path, "Idempotency-Key");
      return true;
    });
    const elsewhere = await operations.submit(newCaller(), keyed);
    assert.equal(elsewhere.created, true);
    assert.notEqual(elsewhere.operation.id, first.operation.id);
  });

  test("a full queue refuses only its caller, until an operation no longer waits", async (t) => {
    const { operations } = await open(t, { queuedMost: 2 });
    const caller = newCaller();
    const { operation } = await operations.submit(caller, submission());
    await operations.submit(caller, submission());
    await assert.rejects(operations.submit(caller, submission()), (error: ThrownError) => {
      assert.equal(error.code, "rate_limited");
      assert.deepEqual([error.data.retryAfter, error.data.limit], [30, 2]);
      return true;
    });
    await operations.submit(newCaller(), submission());
    await operations.cancel(caller, operation.id);
    assert.equal((await operations.submit(caller, submission())).created, true);
  });
}

function readingSuite(open: OpenOperations): void {
  test("another caller's operation and an unknown one are not found", async (t) => {
    const { operations } = await open(t);
    const { operation } = await operations.submit(newCaller(), submission());
    const caller = newCaller();
    const { signal } = new AbortController();
    for (const id of [operation.id, "unknown"]) {
      const asked = [
        operations.get(caller, id),
        operations.cancel(caller, id),
        operations.forecast(caller, { id }),
        operations.wait(caller, id, 60),
        operations.follow(caller, id, 0, signal).next(),
      ];
      const outcomes = await Promise.allSettled(asked);
      for (const outcome of outcomes) {
        assert.ok(outcome.status === "rejected");
        const { code, message, data } = outcome.reason as ThrownError;
        assert.deepEqual([code, data.path], ["not_found", "id"]);
        assert.equal(message, `there is no operation "${id}"`);
      }
    }
    assert.deepEqual((await operations.list(caller, { limit: 10 })).operations, []);
  });

  test("pages list each operation once, newest first, even if one is submitted in between", async (t) => {
    const { operations } = await open(t);
    const caller = newCaller();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await operations.submit(caller, submission())).operation.id);
    await operations.submit(newCaller(), submission());
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await operations.list(caller, { limit: 2, cursor });
      seen.push(...page.operations.map(({ id }) => id));
      cursor = page.next_cursor ?? undefined;
      if (cursor !== undefined) await operations.submit(caller, submission());
    } while (cursor !== undefined);
    assert.deepEqual(seen, ids);
  });

  test("the payload of an operation can be submitted again, also after its end, and only by its caller", async (t) => {
    const { operations, start, end } = await open(t);
    const caller = newCaller();
    const given = { ...JSON.parse(submission().payload), tags: ["a"], end: "2024-01-02" };
    const { id } = (await operations.submit(caller, submission({ payload: JSON.stringify(given) })))
      .operation;
    await start(id);
    await end(id, "Canceled");
    const payload = await operations.payload(caller, id);
    assert.deepEqual(JSON.parse(payload), given);
    const again = await operations.submit(caller, submission({ payload }));
    assert.equal(await operations.payload(caller, again.operation.id), payload);
    for (const [owner, wanted] of [
      [newCaller(), id],
      [caller, "none"],
    ] as const)
      await assert.rejects(operations.payload(owner, wanted), { code: "not_found" });
  });

  test("a list has the requested status and job, and no cursor on its last page", async (t) => {
    const { operations, start } = await open(t);
    const caller = newCaller();
    const running = await operations.submit(caller, submission());
    await start(running.operation.id);
    const payload = JSON.stringify({ ...URLS, config: NETWORK_CONFIG });
    const waiting = await operations.submit(caller, { operation: "run_dl_job", payload });
    for (const [query, expected] of [
      [{ status: "Running" }, running],
      [{ status: "NotStarted" }, waiting],
      [{ operation: "run_ml_job" }, running],
      [{ operation: "run_dl_job", status: "NotStarted" }, waiting],
    ] as const) {
      const page = await operations.list(caller, { ...query, limit: 1 });
      assert.deepEqual(
        [page.operations.map(({ id }) => id), page.next_cursor],
        [[expected.operation.id], null],
      );
    }
    const none = await operations.list(caller, { status: "Running", operation: "run_dl_job", limit: 1 });
    assert.deepEqual(none, { operations: [], next_cursor: null });
  });

  test("a list has the operations with all requested tags, also after their end, and only the caller's", async (t) => {
    const { operations, start, end } = await open(t);
    const caller = newCaller();
    const tagged = async (tags: readonly string[] | undefined, owner = caller) => {
      const payload = JSON.stringify({ ...JSON.parse(submission().payload), tags });
      return (await operations.submit(owner, { operation: "run_ml_job", payload })).operation;
    };
    const both = await tagged(["b", "a,{}"]);
    await start(both.id);
    await end(both.id, "Succeeded");
    const one = await tagged(["b"]);
    const none = await tagged([]);
    await tagged(["b"], newCaller());
    assert.deepEqual([both.tags, one.tags, none.tags], [["b", "a,{}"], ["b"], undefined]);
    const found = async (tag: readonly string[] | undefined) =>
      (await operations.list(caller, { limit: 10, tag })).operations.map(({ id }) => id);
    assert.deepEqual(await found(["b"]), [one.id, both.id]);
    assert.deepEqual(await found(["a,{}", "b"]), [both.id]);
    assert.deepEqual(await found(["B"]), []);
    for (const tag of [undefined, []]) assert.deepEqual(await found(tag), [none.id, one.id, both.id]);
  });

  test("the queue counts waiting and running operations, of all callers and the caller's own, and no ended ones", async (t) => {
    const { operations, start } = await open(t);
    const [caller, other] = [newCaller(), newCaller()];
    const before = await operations.queue(caller);
    assert.deepEqual(before.own, { waiting: 0, running: 0 });
    const running = await operations.submit(caller, submission());
    await start(running.operation.id);
    await operations.submit(caller, submission());
    await operations.submit(other, submission());
    const canceled = await operations.submit(other, submission());
    await operations.cancel(other, canceled.operation.id);
    const waiting = before.waiting + 2;
    const all = { waiting, running: before.running + 1 };
    assert.deepEqual(await operations.queue(caller), { ...all, own: { waiting: 1, running: 1 } });
    assert.deepEqual(await operations.queue(other), { ...all, own: { waiting: 1, running: 0 } });
  });

  test("a cursor that no list returned is refused", async (t) => {
    const { operations } = await open(t);
    for (const cursor of ["x", "12", ""]) {
      await assert.rejects(operations.list(newCaller(), { limit: 1, cursor }), (error: ThrownError) => {
        assert.deepEqual(
          [error.code, error.data.path, error.data.value],
          ["invalid_request", "cursor", cursor],
        );
        return true;
      });
    }
  });

  test("an operation has no forecast before it has succeeded", async (t) => {
    const { operations, start, end } = await open(t);
    const caller = newCaller();
    const { id } = (await operations.submit(caller, submission())).operation;
    const assertNone = (operation_status: string) =>
      assert.rejects(operations.forecast(caller, { id }), (error: ThrownError) => {
        assert.deepEqual(
          [error.code, error.data.path, error.data.operation_status],
          ["no_result", "id", operation_status],
        );
        return true;
      });
    await assertNone("NotStarted");
    await start(id);
    await assertNone("Running");
    await end(id, "Canceled");
    await assertNone("Canceled");
  });
}

function cancellingSuite(open: OpenOperations): void {
  test("cancel ends a waiting operation", async (t) => {
    const { operations } = await open(t);
    const caller = newCaller();
    const { id } = (await operations.submit(caller, submission())).operation;
    const canceled = await operations.cancel(caller, id);
    assert.deepEqual(
      [canceled.status, canceled.started_at, canceled.result, canceled.error?.code],
      ["Canceled", null, null, "canceled"],
    );
    assert.deepEqual(await operations.cancel(caller, id), canceled);
    const events = await eventsOf(operations, caller, id);
    assert.deepEqual(typesOf(events), ["queued", "cancel_requested", "canceled"]);
    assert.deepEqual(events.at(-1)!.data, canceled);
  });

  test("a running operation is Running until its worker has stopped, however often it is cancelled", async (t) => {
    const { operations, start, end } = await open(t);
    const caller = newCaller();
    const { id } = (await operations.submit(caller, submission())).operation;
    await start(id);
    for (let n = 0; n < 2; n++) assert.equal((await operations.cancel(caller, id)).status, "Running");
    await end(id, "Canceled");
    const canceled = await operations.get(caller, id);
    assert.deepEqual([canceled.status, canceled.error?.code], ["Canceled", "canceled"]);
    const types = typesOf(await eventsOf(operations, caller, id));
    assert.deepEqual(types, ["queued", "started", "cancel_requested", "canceled"]);
  });

  test("cancel does not change an operation that has ended", async (t) => {
    const { operations, start, end } = await open(t);
    const caller = newCaller();
    const { id } = (await operations.submit(caller, submission())).operation;
    await start(id);
    await end(id, "Succeeded");
    const ended = await operations.get(caller, id);
    assert.deepEqual([ended.status, ended.result?.status, ended.error], ["Succeeded", "Succeeded", null]);
    assert.deepEqual(await operations.cancel(caller, id), ended);
    assert.deepEqual(typesOf(await eventsOf(operations, caller, id)), ["queued", "started", "succeeded"]);
  });

  test("wait returns the operation at its end, after its seconds, or when its signal aborts", async (t) => {
    const { operations, start, end } = await open(t);
    const caller = newCaller();
    const { id } = (await operations.submit(caller, submission())).operation;
    assert.equal((await operations.wait(caller, id, 0)).status, "NotStarted");
    const controller = new AbortController();
    const aborted = operations.wait(caller, id, 60, controller.signal);
    controller.abort();
    assert.equal((await aborted).status, "NotStarted");
    const waiting = operations.wait(caller, id, 60);
    await start(id);
    await end(id, "Succeeded");
    const ended = await waiting;
    assert.equal(ended.status, "Succeeded");
    assert.deepEqual(await operations.wait(caller, id, 60), ended);
  });
}

function followingSuite(open: OpenOperations): void {
  test("a reader gets the existing events, then each as it happens, up to the final one", async (t) => {
    const { operations, start, end } = await open(t);
    const caller = newCaller();
    const { id } = (await operations.submit(caller, submission())).operation;
    const { signal } = new AbortController();
    const reader = operations.follow(caller, id, 0, signal);
    const first = (await reader.next()).value!;
    assert.deepEqual([first.type, first.data], ["queued", { operation: "run_ml_job" }]);
    const second = reader.next();
    await start(id);
    assert.deepEqual((await second).value!.data, { attempt: 1 });
    const third = reader.next();
    await end(id, "Succeeded");
    const last = (await third).value!;
    assert.deepEqual([last.type, last.data], ["succeeded", await operations.get(caller, id)]);
    assert.equal((await reader.next()).done, true);
    const all = await eventsOf(operations, caller, id);
    for (const event of all) storedEventSchema.parse(event);
    assert.deepEqual(
      all.map(({ seq, operation_id }) => [seq, operation_id]),
      [1, 2, 3].map((seq) => [seq, id]),
    );
    assert.deepEqual(await eventsOf(operations, caller, id, 1), all.slice(1));
    assert.deepEqual(await eventsOf(operations, caller, id, 3), []);
  });

  test("a reader of events that are gone, or have yet to happen, gets a snapshot and then the kept ones", async (t) => {
    const { operations, start, end, prune } = await open(t);
    const caller = newCaller();
    const { id } = (await operations.submit(caller, submission())).operation;
    await start(id);
    await prune(id);
    const { signal } = new AbortController();
    const reader = operations.follow(caller, id, 0, signal);
    const snapshot = (await reader.next()).value!;
    assert.deepEqual([snapshot.type, snapshot.seq], ["snapshot", 1]);
    assert.deepEqual(snapshot.data, await operations.get(caller, id));
    const kept = (await reader.next()).value!;
    assert.deepEqual([kept.type, kept.seq], ["started", 2]);
    const next = reader.next();
    await end(id, "Succeeded");
    const last = (await next).value!;
    assert.deepEqual([last.type, last.seq], ["succeeded", 3]);
    assert.deepEqual(typesOf(await eventsOf(operations, caller, id)), ["snapshot", "started", "succeeded"]);
    assert.deepEqual(typesOf(await eventsOf(operations, caller, id, 1)), ["started", "succeeded"]);
    const ahead = await eventsOf(operations, caller, id, 4);
    assert.deepEqual(
      ahead.map(({ type, seq }) => [type, seq]),
      [
        ["snapshot", 2],
        ["succeeded", 3],
      ],
    );
  });

  test("a reader stops when its signal aborts", async (t) => {
    const { operations } = await open(t);
    const caller = newCaller();
    const { id } = (await operations.submit(caller, submission())).operation;
    const controller = new AbortController();
    const reader = operations.follow(caller, id, 0, controller.signal);
    await reader.next();
    const next = reader.next();
    controller.abort();
    assert.equal((await next).done, true);
  });
}

interface ThrownError {
  readonly code: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const URLS = {
  feature_url: "https://acct.example/models/data/feature_engine_1.json",
  data_extractor_url: "https://acct.example/models/data/data_extractor_1.json",
};

const NETWORK_CONFIG = { "NN params": { "Dot prediction": { "current option": "mlp" } } };

function payloadOf(params: object): string {
  return JSON.stringify({ ...URLS, config: { "ML params": params } });
}

function submission(given: Partial<Submission> = {}): Submission {
  return { operation: "run_ml_job", payload: payloadOf({ model: "ridge" }), ...given };
}

function newCaller(): Caller {
  return { subject: `key:${randomUUID()}`, scopes: new Set(["read", "write"]) };
}

async function eventsOf(
  operations: Operations,
  caller: Caller,
  id: string,
  after = 0,
): Promise<(StoredEvent | Snapshot)[]> {
  const events: (StoredEvent | Snapshot)[] = [];
  const { signal } = new AbortController();
  for await (const event of operations.follow(caller, id, after, signal)) events.push(event);
  return events;
}

function typesOf(events: readonly { readonly type: string }[]): string[] {
  return events.map(({ type }) => type);
}
