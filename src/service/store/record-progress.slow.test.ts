import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { beforeEach, test } from "node:test";
import { WHOLE_MATRIX } from "../../../test/whole-matrix.testing.ts";
import { operationPageSchema, operationSchema } from "../../contract/api/operation-view.ts";
import { storedEventSchema } from "../../contract/api/stored-event.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import { jsonBytes } from "../../contract/json/bounded-json.ts";
import type { EpochPoint, EventBatch } from "../../contract/output/job-events.ts";
import type { RunSummary } from "../../contract/output/run-summary.ts";
import { type Failure, problemOf } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { countCodes, SIZES } from "../../contract/schema/answer-limits.ts";
import { requireForecasts } from "../../jobs/shared/require-forecasts.ts";
import { onEachDatabase, withQuery } from "../database/databases.testing.ts";
import { followEvents } from "../operations/follow-events.ts";
import { OperationNotifications } from "../queue/operation-notifications.ts";
import { newCaller, TestedQueue } from "../queue/queue.testing.ts";
import { claimOperation } from "./claim-operation.ts";
import { endOperation } from "./end-operation.ts";
import { readEvents, webhookTypes } from "./events.ts";
import { readOperation, viewOf } from "./operation-rows.ts";
import { recordProgress } from "./record-progress.ts";

const NONE = webhookTypes([]);
/** Long names: what they are, and a mark that makes one. */
const EMOJI = ["emoji", "😀".repeat(400)] as const;
const LONG = ["long", "x".repeat(900)] as const;
const ESCAPED = ["escaped to six bytes each", "\u0001".repeat(900)] as const;
/** What a name becomes is measured before it comes to a database, of which PGlite is the slow one. */
const NAMES = WHOLE_MATRIX
  ? { pglite: [EMOJI], postgres: [EMOJI, LONG, ESCAPED] }
  : { pglite: [], postgres: [EMOJI] };
/** Of large epochs: somewhat more than is kept. */
const BATCHES = 60;
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

const SUMMARY: RunSummary = {
  model: "ridge",
  fit: "per_ticker",
  as_of: "2024-12-30",
  tickers: 2,
  failed: 1,
  verdict: null,
};

function pointAt(epoch: number): EpochPoint {
  return { ticker: "A", epoch, train_loss: 1 / epoch, validation_loss: null };
}

onEachDatabase((tested) => {
  beforeEach(() => tested.database().exec("truncate operations cascade"));

  /** A queue that starts nothing by itself, with a caller of its own. */
  async function waiting(t: { after: (end: () => Promise<void>) => void }) {
    const queue = await new TestedQueue(tested.database()).start({ dispatch: false });
    t.after(() => queue.close());
    const caller = newCaller();
    return {
      caller,
      operations: queue.operations,
      begin: async () => {
        await queue.submit(caller);
        return (await claimOperation(tested.database(), "me"))!;
      },
    };
  }

  const record = (id: string, batch: EventBatch, events = 1_000) =>
    recordProgress(tested.database(), { id, attempt: 1 }, batch, { events, webhooks: NONE });
  const typesOf = async (id: string) =>
    (await readEvents(tested.database(), id, 0, ALL)).map(({ type }) => type);

  test("a summary becomes part of the operation until another attempt starts, and is no event", async (t) => {
    const { begin } = await waiting(t);
    const { id } = await begin();
    await record(id, { summary: SUMMARY });
    await record(id, { progress: { stage: "write", done: 1, total: 1 } });
    const view = viewOf((await readOperation(tested.database(), id))!);
    assert.deepEqual(operationSchema.parse(view).summary, SUMMARY);
    assert.deepEqual(await typesOf(id), ["queued", "progress"]);
    await tested.database().query("update operations set status = 'NotStarted' where id = $1", [id]);
    const again = await claimOperation(tested.database(), "me");
    assert.equal(viewOf(again!).summary, undefined);
  });

  test("failures, epochs and counts become events and stand in the operation", async (t) => {
    const { begin } = await waiting(t);
    const { id } = await begin();
    const failures = failuresOf(2, "x");
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

  test("of large epochs the service keeps the newest few megabytes", async (t) => {
    const { begin } = await waiting(t);
    const { id } = await begin();
    // Random bytes, which the database cannot compress.
    const noise = () => randomBytes(96).toString("base64");
    for (let sent = 0; sent < BATCHES; sent++) {
      const points = Array.from({ length: 800 }, () => ({ ...pointAt(sent + 1), ticker: noise() }));
      await record(id, { epochs: { points } });
    }
    const { rows } = await tested
      .database()
      .query<{ bytes: number; newest: number }>(
        "select sum(pg_column_size(data))::int as bytes, max(seq) as newest from events where operation_id = $1",
        [id],
      );
    assert.deepEqual([rows[0]!.bytes <= 8 * 2 ** 20 + 1_024, rows[0]!.newest], [true, BATCHES + 1]);
    assert.ok(rows[0]!.bytes > 7 * 2 ** 20);
  });

  for (const [what, mark] of NAMES[tested.kind]) {
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
        await endOperation(
          tested.database(),
          row,
          { status: "Failed", problem },
          { events: 1_000, webhooks: NONE },
        );
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
  }

  test("rows that another version has stored are answered in no more bytes", async (t) => {
    const { begin, caller, operations } = await waiting(t);
    const { id } = await begin();
    const error = JSON.stringify({
      ...problemOf(new Error("x")),
      failures: failuresOf(2_000, "x".repeat(900)),
    });
    await tested.database().query("update operations set error = $2::json where id = $1", [id, error]);
    const { operations: listed } = await operations.list(caller, { limit: 100 });
    assert.ok(jsonBytes(listed) <= SIZES.operation);
  });

  const kinds = [
    ["differ", (n: number) => ({ ...pointAt(n), train_loss: Math.random() })],
    ["are alike, which the database compresses", (n: number) => ({ ...pointAt(n), ticker: "x".repeat(256) })],
  ] as const;
  for (const [what, pointOf] of WHOLE_MATRIX ? kinds : kinds.slice(1)) {
    test(`a reader of events holds a small part of them at a time where they ${what}`, async (t) => {
      const { begin } = await waiting(t);
      const { id } = await begin();
      const points = Array.from({ length: 500 }, (_, n) => pointOf(n + 1));
      for (let i = 0; i < 30; i++) await record(id, { epochs: { points } });
      let largest = 0;
      const database = withQuery(tested.database(), async (ask, text, params) => {
        const answer = await ask<never>(text, params);
        largest = Math.max(largest, jsonBytes(answer.rows));
        return answer;
      });
      const read = async () => (await readOperation(tested.database(), id))!;
      const { last_seq } = await read();
      const { signal } = new AbortController();
      const followed = followEvents({
        database,
        notifications: new OperationNotifications(),
        signal,
        after: 0,
        read,
      });
      for (let seq = 1; seq <= last_seq; seq++) assert.equal((await followed.next()).value!.seq, seq);
      await followed.return();
      assert.ok(largest < 2 * SIZES.event, `${largest}`);
    });
  }
});
