import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { operationPageSchema, operationSchema } from "../../contract/api/operation-view.ts";
import { storedEventSchema } from "../../contract/api/stored-event.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import { jsonBytes } from "../../contract/json/bounded-json.ts";
import type { EpochPoint, EventBatch, RunSummary } from "../../contract/output/job-events.ts";
import { type Failure, problemOf } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { countCodes, SIZES } from "../../contract/schema/answer-limits.ts";
import { requireForecasts } from "../../jobs/shared/require-forecasts.ts";
import { onEachDatabase, removeOperations } from "../database/databases.testing.ts";
import { newCaller, TestedQueue } from "../queue/queue.testing.ts";
import { claimOperation, endOperation, recordProgress, recordStart, releaseOperation } from "./attempts.ts";
import { readEvents, webhookTypes } from "./events.ts";
import { viewOf } from "./operation-view.ts";
import { insertOperation, readOperation } from "./operations.ts";

const NONE = webhookTypes([]);
const ALL = { events: 10_000, bytes: 2 ** 30 };

/** The error of a job of which every ticker has failed. */
function allFailed(failures: readonly Failure[]): MucastError {
  try {
    requireForecasts([], failures, { asOf: 0, unused: () => [] });
  } catch (error) {
    return error as MucastError;
  }
  return assert.fail("the job has no ticker");
}

function failuresOf(count: number, mark: string): Failure[] {
  return Array.from({ length: count }, (_, i) => {
    const ticker = `${i}${mark}`;
    return { ticker, code: "insufficient_history", message: `${ticker} has 1 row of 30` };
  });
}

function pointAt(epoch: number): EpochPoint {
  return { ticker: "A", epoch, train_loss: 1 / epoch, validation_loss: null };
}

onEachDatabase((tested) => {
  beforeEach(() => removeOperations(tested.database()));

  const partsOf = (events_kept = 1_000) => ({
    database: tested.database(),
    webhooks: NONE,
    settings: { events_kept },
  });

  /** Submits a job of a caller under the key `one`. */
  const insert = (id: string, caller = "local") =>
    insertOperation(
      partsOf(),
      {
        ...{
          id,
          caller,
          space: "",
          blobs: [],
          featureUrl: "",
          dataExtractorUrl: "",
          operation: "run_ml_job",
        },
        ...{ options: {}, config: "{}", model: undefined, configSha256: "", bodySha256: "", payload: "{}" },
        ...{ idempotencyKey: `one ${caller === "local" ? "" : id}`, traceparent: undefined },
      },
      { queued: 100, quota: { bytes: 1_000, blobs: 100 } },
    );

  const claim = (owner = "me") => claimOperation(tested.database(), owner);
  const end = (id: string, attempt = 1) =>
    endOperation(partsOf(), { id, attempt }, { status: "Failed", problem: problemOf(new Error("x")) });

  test("the same key gives the same operation, even while its end is being stored", async () => {
    await insert("op");
    await claim();
    const [ended, again] = await Promise.all([end("op"), insert("another")]);
    assert.deepEqual([ended?.status, again.kind, "row" in again && again.row.id], ["Failed", "exists", "op"]);
  });

  test("a refusal that is stored twice changes no later attempt", async () => {
    await insert("op");
    const database = tested.database();
    const first = (await claim("first"))!;
    assert.equal(await releaseOperation(database, first, "refused", 0), true);
    const second = (await claim("second"))!;
    assert.equal(second.attempt, first.attempt + 1);
    assert.equal(await releaseOperation(database, first, "refused", 0), false);
    const { status, owner } = (await readOperation(database, "op"))!;
    assert.deepEqual([status, owner], ["Running", "second"]);
  });

  test("an attempt has one event for its start, however often the start is stored", async () => {
    await insert("op");
    const row = (await claim())!;
    assert.equal(await recordStart(partsOf(), row, "1-2"), true);
    assert.equal(await recordStart(partsOf(), row, "1-2"), false);
    const events = await readEvents(tested.database(), "op", 0, ALL);
    assert.deepEqual(
      events.map(({ type }) => type),
      ["queued", "started"],
    );
  });

  test("a newcomer waits for at most one job of each other caller, however long their queues are", async () => {
    for (let n = 0; n < 5; n++) for (const caller of ["ann", "ben"]) await insert(`${caller}-${n}`, caller);
    const served: string[] = [];
    for (let n = 0; n < 4; n++) {
      if (n === 2) await insert("cas-0", "cas");
      const row = (await claim())!;
      served.push(row.caller);
      await end(row.id);
    }
    assert.deepEqual(served, ["ann", "ben", "cas", "ann"]);
  });

  /** A queue that starts nothing by itself, with a caller of its own. */
  async function waiting(t: { after: (end: () => Promise<void>) => void }) {
    const queue = await new TestedQueue(tested.database()).start({ dispatch: false });
    t.after(() => queue.close());
    const caller = newCaller();
    const begin = async () => {
      await queue.submit(caller);
      return (await claim())!;
    };
    return { caller, operations: queue.operations, begin };
  }

  const record = (id: string, batch: EventBatch, events?: number) =>
    recordProgress(partsOf(events), { id, attempt: 1 }, batch);
  const typesOf = async (id: string) =>
    (await readEvents(tested.database(), id, 0, ALL)).map(({ type }) => type);

  test("a summary becomes part of the operation until another attempt starts, and is no event", async (t) => {
    const summary: RunSummary = {
      ...{ model: "ridge", fit: "per_ticker", as_of: "2024-12-30", tickers: 2, failed: 1, verdict: null },
    };
    const { begin } = await waiting(t);
    const { id } = await begin();
    await record(id, { summary });
    await record(id, { progress: { stage: "write", done: 1, total: 1 } });
    const row = (await readOperation(tested.database(), id))!;
    assert.deepEqual(operationSchema.parse(viewOf(row)).summary, summary);
    assert.deepEqual(await typesOf(id), ["queued", "progress"]);
    await releaseOperation(tested.database(), row, "drained", 0);
    assert.equal(viewOf((await claim())!).summary, undefined);
  });

  test("failures, epochs and counts become events and stand in the operation", async (t) => {
    const { begin } = await waiting(t);
    const { id } = await begin();
    // A NUL, which jsonb would refuse.
    const failures = failuresOf(2, "\u0000");
    const counts = { warnings: { no_prices: 3 }, failures: countCodes(failures) };
    const epochs = { points: [pointAt(1), { ...pointAt(2), member: 1 }], left_out: 4 };
    await record(id, { failures, epochs, counts });
    await record(id, { failures: failures.toReversed() });
    const view = viewOf((await readOperation(tested.database(), id))!);
    operationSchema.parse(view);
    assert.deepEqual(
      [view.failures, view.failure_counts, view.warning_counts],
      [failures, { insufficient_history: 2 }, { no_prices: 3 }],
    );
    const events = await readEvents(tested.database(), id, 1, ALL);
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

  test("epochs displace no other event, and are kept as many as other events", async (t) => {
    const { begin, caller, operations } = await waiting(t);
    const { id } = await begin();
    const others = 8;
    for (let done = 1; done <= others; done++) {
      await record(id, { progress: { stage: "fit", done, total: null } }, 10);
      for (let i = 1; i <= 3; i++) await record(id, { epochs: { points: [pointAt(3 * done + i)] } }, 10);
    }
    const types = await typesOf(id);
    const counted = Object.groupBy(types, (type) => type);
    assert.deepEqual([types[0], counted.progress?.length, counted.epochs?.length], ["queued", others, 10]);
    const { signal } = new AbortController();
    const { value } = await operations.follow(caller, id, 0, signal).next();
    assert.equal(value?.type, "queued", "who asks for all of them gets no snapshot");
  });

  test("pruning removes progress before any other event", async (t) => {
    const { begin } = await waiting(t);
    const { id } = await begin();
    const warnings: Warning[] = [{ code: "long_gap", message: "A: a gap", ticker: "A" }];
    await record(id, { warnings }, 10);
    for (let done = 1; done <= 30; done++) {
      await record(id, { progress: { stage: "fit", done, total: 30 } }, 10);
    }
    assert.deepEqual(await typesOf(id), ["queued", "warning", ...Array(8).fill("progress")]);
  });

  test("of large epochs the service keeps the newest few megabytes, and a reader holds a small part at a time", async (t) => {
    const { begin } = await waiting(t);
    const { id } = await begin();
    const points = Array.from({ length: 800 }, (_, n) => ({ ...pointAt(n + 1), ticker: "x".repeat(128) }));
    const size = jsonBytes({ points });
    const sent = Math.ceil((34 * 2 ** 20) / size);
    for (let nth = 0; nth < sent; nth++) await record(id, { epochs: { points } });
    const kept = await readEvents(tested.database(), id, 1, ALL);
    const bytes = kept.reduce((sum, { data }) => sum + jsonBytes(data), 0);
    assert.ok(bytes <= 32 * 2 ** 20 && bytes > 31 * 2 ** 20, `${bytes}`);
    assert.equal(kept.at(-1)!.seq, sent + 1);
    const portion = await readEvents(tested.database(), id, 1, { events: 200, bytes: 2 * size });
    assert.equal(portion.length, 2);
  });

  for (const [what, mark] of [
    ["emoji", "😀".repeat(400)],
    ["escaped to six bytes each", "\u0001".repeat(900)],
  ] as const)
    test(`an operation, its events and a page stay within their sizes where names are ${what}`, async (t) => {
      const { begin, caller, operations } = await waiting(t);
      const problem = problemOf(allFailed(failuresOf(2_000, mark)));
      const ids: string[] = [];
      for (let i = 0; i < 9; i++) {
        const row = await begin();
        ids.unshift(row.id);
        const failures = failuresOf(300, mark);
        const warnings = failures.map(
          ({ ticker, message }) => ({ code: "no_prices", ticker, message }) as const,
        );
        await record(row.id, { failures, warnings });
        await endOperation(partsOf(), row, { status: "Failed", problem });
      }
      const view = await operations.get(caller, ids[0]!);
      operationSchema.parse(view);
      assert.ok(jsonBytes(view) <= SIZES.operation, `${jsonBytes(view)}`);
      assert.ok(view.warnings.length > 3 && view.failures!.length > 3);
      assert.deepEqual(view.error!.failure_counts, { insufficient_history: 2_000 });
      for (const event of await readEvents(tested.database(), ids[0]!, 0, ALL)) {
        assert.ok(jsonBytes(event) <= SIZES.event, `${event.type} ${jsonBytes(event)}`);
      }
      const seen: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await operations.list(caller, { limit: 100, cursor });
        operationPageSchema.parse(page);
        assert.ok(jsonBytes(page) <= SIZES.page, `${jsonBytes(page)}`);
        seen.push(...page.operations.map(({ id }) => id));
        if (page.next_cursor === null) break;
        cursor = page.next_cursor;
      }
      assert.deepEqual(seen, ids);
    });
});
