import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, type TestContext, test } from "node:test";
import type { Updateable } from "kysely";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import { operationPageSchema, operationSchema } from "../../contract/api/operation-view.ts";
import { type Snapshot, type StoredEvent, storedEventSchema } from "../../contract/api/stored-event.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import { jsonBytes } from "../../contract/json/bounded-json.ts";
import type { EpochPoint, EventBatch } from "../../contract/output/job-events.ts";
import { statusKey } from "../../contract/output/job-events.ts";
import { type Failure, problemOf } from "../../contract/problems/problem.ts";
import { countCodes, SIZES } from "../../contract/schema/answer-limits.ts";
import { requireForecasts } from "../../jobs/shared/require-forecasts.ts";
import type { Caller } from "../auth/caller.ts";
import { newRow, onEachDatabase, removeOperations } from "../database/databases.testing.ts";
import type { Tables } from "../database/tables.ts";
import { canceledProblem } from "../queue/finish-attempt.ts";
import { newCaller } from "../queue/queue.testing.ts";
import { claimOperation, endOperation, readOperation, recordProgress } from "../store/attempts.ts";
import { readEvents } from "../store/events.ts";
import { viewOf } from "../store/operation-view.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { operationsOn, SteppedOperations } from "./operations.testing.ts";
import { insertOperation, type Submission } from "./operations.ts";
import { removeOldOperations } from "./retention.ts";

const URLS = {
  feature_url: "https://acct.example/models/data/feature_engine_1.json",
  data_extractor_url: "https://acct.example/models/data/data_extractor_1.json",
};

function payloadOf(members: object = {}): string {
  return JSON.stringify({ ...URLS, ...members, config: { "ML params": { model: "ridge" } } });
}

function submission(given: Partial<Submission> = {}): Submission {
  return { operation: "run_ml_job", payload: payloadOf(), ...given };
}

const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

async function eventsOf(operations: SteppedOperations, caller: Caller, id: string, after = 0) {
  const events: (StoredEvent | Snapshot)[] = [];
  const { signal } = new AbortController();
  for await (const event of operations.follow(caller, id, after, signal)) events.push(event);
  return events;
}

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
    const ending = endOperation(parts, { ...newRow(id, ""), attempt: 1 }, { status: "Failed", problem });
    const [, during] = await Promise.all([ending, operations.submit(caller, spaced)]);
    const later = await operations.submit(caller, keyed);
    assert.deepEqual([during.operation.id, later.operation.id, later.created], [id, id, false]);
    assert.equal(later.operation.status, "Failed");
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

  test("a caller has one preview at a time, and others have theirs", async (t) => {
    const { parts, caller } = await open(t);
    const held = Promise.withResolvers<Buffer>();
    const operations = new SteppedOperations({ ...parts, preview: () => held.promise });
    const { signal } = new AbortController();
    const validate = (by: Caller) => operations.validate(by, { payload: payloadOf() }, signal);
    const begun = [validate(caller), validate(newCaller())];
    await assert.rejects(validate(caller), { code: "rate_limited", data: { retryAfter: 5 } });
    held.resolve(Buffer.from("{}"));
    await Promise.all(begun);
    assert.deepEqual(await validate(caller), {});
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
    assert.equal(Buffer.from(cursor, "base64url").toString(), `${Date.parse(created_at)} ${id}`);
    assert.deepEqual(await list({ cursor }), [ids[1], ids[0]]);
    assert.deepEqual((await operations.list(newCaller(), { limit: 10, cursor })).operations, []);
    await tested
      .database()
      .write((db) => db.deleteFrom("operations").where("id", "in", [ids[1]!, ids[2]!]).execute());
    assert.deepEqual(await list({ cursor }), [ids[0]]);
    for (const wrong of [Buffer.from("o12").toString("base64url"), "x".repeat(200), ""])
      await assert.rejects(list({ cursor: wrong }), { code: "invalid_request" });
  });

  test("an operation, its events and a page stay within their sizes, however long its names are", async (t) => {
    // Six bytes each in JSON.
    const mark = "\u0001".repeat(900);
    const { parts, operations, caller, submit } = await open(t);
    const failures = failuresOf(300, mark);
    const warnings = failures.map(({ ticker, message }) => ({ code: "no_prices", ticker, message }) as const);
    const problem = problemOf(allFailed(failuresOf(2_000, mark)));
    const { id } = await submit();
    await operations.start(id);
    await recordProgress(parts, { id, attempt: 1 }, { failures, warnings });
    await endOperation(parts, { ...newRow(id, ""), attempt: 1 }, { status: "Failed", problem });
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
    for (let cursor: string | undefined; ; ) {
      const page = operationPageSchema.parse(await operations.list(caller, { limit: 100, cursor }));
      assert.ok(jsonBytes(page) <= SIZES.page, `${jsonBytes(page)}`);
      for (const { id } of page.operations) seen.add(id);
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    assert.equal(seen.size, 101);
  });

  const claim = (owner = "me") => claimOperation(tested.database(), owner);

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
    // An event that has yet to happen, as after a restore of the database.
    const beyond = await eventsOf(operations, caller, id, all.at(-1)!.seq + 1);
    assert.deepEqual(typesOf(beyond), ["snapshot", "succeeded"]);
  });

  test("retention removes old operations with their status blobs, except those whose status blobs the storage refuses to remove", async (t) => {
    const database = tested.database();
    const folder = mkdtempSync(join(tmpdir(), "mucast-retention-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const store = new FolderStore(folder, "");
    for (const [id, days] of Object.entries({ refused: 40, old: 35, young: 5 })) {
      const finished_at = new Date(Date.now() - days * 86_400_000);
      const row = { ...newRow(id, "local"), status: "Failed", attempt: 1, finished_at } as const;
      await database.write((db) => db.insertInto("operations").values(row).execute());
      await store.put(statusKey(id, 1), "{}");
    }
    const { remove } = FolderStore.prototype;
    t.mock.method(FolderStore.prototype, "remove", function (this: FolderStore, key: string) {
      return key.includes("refused") ? Promise.reject(new Error("refused")) : remove.call(this, key);
    });
    const { signal } = new AbortController();
    await removeOldOperations({ database, store, days: 30, log: noLog }, signal);
    const rows = await database.db.selectFrom("operations").select("id").orderBy("id").execute();
    assert.deepEqual(rows, [{ id: "refused" }, { id: "young" }]);
    assert.equal(await store.stat(statusKey("old", 1)), undefined);
    assert.ok(await store.stat(statusKey("young", 1)));
  });
});
