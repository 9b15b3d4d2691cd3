import assert from "node:assert/strict";
import { beforeEach, type TestContext, test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { newRow, onEachDatabase, removeOperations } from "../database/databases.testing.ts";
import type { Pace } from "../queue/leased-work.ts";
import { Leases } from "../queue/leases.ts";
import { openLog } from "../telemetry/log.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { MAX_ATTEMPTS, startTracking } from "./tracking-queue.ts";

const away = new MucastError("tracking_failed", "it is away", { passing: true });
const refusal = new MucastError("tracking_failed", "it refuses", { passing: false });

onEachDatabase((tested) => {
  beforeEach(() => removeOperations(tested.database()));

  /** Stores jobs that have succeeded, in the order in which they are due. */
  async function ended(...ids: string[]): Promise<void> {
    const database = tested.database();
    await database.write(async (db) => {
      for (const [nth, id] of ids.entries()) {
        await db.insertInto("operations").values(newRow(id, "me")).execute();
        await db
          .insertInto("tracking")
          .values({ id, next_at: database.time(nth - 60) })
          .execute();
      }
    });
  }

  const waiting = async () =>
    (await tested.database().db.selectFrom("tracking").selectAll().orderBy("id").execute()).map(
      ({ id, owner }) => [id, owner],
    );

  /**
   * A queue whose tracker is a function.
   * @param outcome of an attempt at the output of this id: an error, or undefined if it is recorded.
   */
  function queueOf(
    t: TestContext,
    outcome: (id: string, attempt: number, signal: AbortSignal) => unknown,
    pace: Partial<Pace> = {},
  ) {
    const lines: { level: string; msg: string; operation_id?: string }[] = [];
    const attempts: string[] = [];
    const queue = startTracking({
      database: tested.database(),
      leases: new Leases({ database: tested.database(), log: noLog }),
      url: "https://mlflow.example",
      log: openLog({ level: "info", destination: { write: (line) => void lines.push(JSON.parse(line)) } }),
      pace: { claimMilliseconds: 5, retryDelay: () => -120, closeMilliseconds: 600_000, ...pace },
      record: async ({ id, name }, signal) => {
        assert.equal(name, `ml_engine_${id}.json`);
        attempts.push(id);
        const error = await outcome(id, attempts.filter((other) => other === id).length, signal);
        if (error !== undefined) throw error;
      },
    });
    t.after(() => queue.close());
    /** Waits until all outputs have had their attempts. */
    const finish = async () => {
      while ((await waiting()).length > 0) await new Promise(setImmediate);
      await queue.close();
    };
    return { queue, lines, attempts, finish };
  }

  test("outputs are recorded one after the other, and nothing is logged", async (t) => {
    await ended("a", "b", "c");
    let running = 0;
    const { lines, attempts, finish } = queueOf(t, async () => {
      running += 1;
      assert.equal(running, 1);
      await new Promise(setImmediate);
      running -= 1;
    });
    await finish();
    assert.deepEqual([attempts, lines], [["a", "b", "c"], []]);
  });

  test("a tracker that is away is logged once, and once when it is back", async (t) => {
    await ended("a", "b");
    const { lines, attempts, finish } = queueOf(t, (id, attempt) =>
      id === "a" && attempt < 4 ? away : undefined,
    );
    await finish();
    assert.deepEqual(attempts, ["a", "a", "a", "a", "b"]);
    assert.deepEqual(
      lines.map(({ level, msg, operation_id }) => [level, msg, operation_id]),
      [
        ["warn", "jobs cannot be recorded in MLflow; a line will say when they are again", "a"],
        ["info", "jobs are recorded in MLflow again", undefined],
      ],
    );
  });

  test("an output has a limited number of attempts, and one whose error will stay has a single attempt", async (t) => {
    const errors: Record<string, unknown> = {
      a: away,
      refused: refusal,
      gone: new MucastError("blob_not_found", "gone"),
      contradictory: new MucastError("invalid_data", "no report"),
      defect: new TypeError("a defect"),
    };
    const passing = {
      killed: new MucastError("process_lost", "killed"),
      late: new MucastError("timed_out", "late"),
      storage: new MucastError("blob_unavailable", "away"),
    };
    await ended(...Object.keys(errors), ...Object.keys(passing));
    const { attempts, finish } = queueOf(
      t,
      (id, attempt) => errors[id] ?? (attempt === 1 ? passing[id as keyof typeof passing] : undefined),
    );
    await finish();
    const twice = Object.keys(passing).flatMap((id) => [id, id]);
    const [, ...once] = Object.keys(errors);
    assert.deepEqual(attempts.toSorted(), [...Array(MAX_ATTEMPTS).fill("a"), ...once, ...twice].toSorted());
  });

  test("a row that its service holds but does not work on is free after two renewals", async (t) => {
    await ended("a");
    const leases = new Leases({ database: tested.database(), log: noLog });
    await tested.database().write((db) => db.updateTable("tracking").set({ owner: leases.owner }).execute());
    let isAtWork = true;
    leases.watch("tracking", { isAtWork: () => isAtWork });
    const owners: unknown[] = [];
    for (let look = 0; look < 5; look += 1) {
      if (look === 2) isAtWork = false;
      await leases.look();
      owners.push((await waiting())[0]![1]);
    }
    const { owner } = leases;
    assert.deepEqual(owners, [owner, owner, owner, null, null]);
    const { attempts, finish } = queueOf(t, () => undefined);
    await finish();
    assert.deepEqual(attempts, ["a"]);
  });

  test("closing aborts an attempt that takes too long, and the next service makes it", async (t) => {
    await ended("a", "b");
    const began = Promise.withResolvers<void>();
    const slow = queueOf(
      t,
      (_id, _attempt, signal) => {
        began.resolve();
        return new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
      },
      { closeMilliseconds: 1 },
    );
    await began.promise;
    await slow.queue.close();
    assert.deepEqual(await waiting(), [
      ["a", null],
      ["b", null],
    ]);
    const next = queueOf(t, () => undefined);
    await next.finish();
    assert.deepEqual(next.attempts.toSorted(), ["a", "b"]);
  });
});
