import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, type TestContext, test } from "node:test";
import { eventuallyTrue } from "../../../test/service/eventually.testing.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { mlText } from "../../outputs/outputs.testing.ts";
import { FakeTracker } from "../../tracking/fake-tracker.testing.ts";
import { type Database, openDatabase } from "../database/database.ts";
import { newRow, onEachDatabase, removeOperations } from "../database/databases.testing.ts";
import type { Pace } from "../queue/leased-work.ts";
import { Leases } from "../queue/leases.ts";
import { loadSettings } from "../settings/load-settings.ts";
import { openLog } from "../telemetry/log.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { MAX_ATTEMPTS, openTracking, startTracking } from "./tracking-queue.ts";

const SPACE = "key-0123456789abcdef";

/** Stores jobs that have succeeded, in the order in which they are due. */
async function addEnded(database: Database, ...ids: string[]): Promise<void> {
  await database.write(async (db) => {
    for (const [nth, id] of ids.entries()) {
      const row = { ...newRow(id, "me"), space: SPACE };
      await db.insertInto("operations").values(row).execute();
      const next_at = database.time(nth - 60);
      await db.insertInto("tracking").values({ id, next_at }).execute();
    }
  });
}

onEachDatabase((tested) => {
  beforeEach(() => removeOperations(tested.database()));
  const leasesOf = () => new Leases({ database: tested.database(), log: noLog });
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
      leases: leasesOf(),
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

  const away = new MucastError("tracking_failed", "it is away", { passing: true });

  test("outputs are recorded one after the other, and a tracker that is away is logged once, and once when it is back", async (t) => {
    await addEnded(tested.database(), "a", "b", "c");
    let running = 0;
    const { lines, attempts, finish } = queueOf(t, async (id, attempt) => {
      running += 1;
      assert.equal(running, 1);
      await new Promise(setImmediate);
      running -= 1;
      return id === "a" && attempt < 4 ? away : undefined;
    });
    await finish();
    assert.deepEqual(attempts, ["a", "a", "a", "a", "b", "c"]);
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
      refused: new MucastError("tracking_failed", "it refuses", { passing: false }),
      contradictory: new MucastError("invalid_data", "no report"),
      defect: new TypeError("a defect"),
    };
    const passing = { killed: new MucastError("process_lost", "killed") };
    await addEnded(tested.database(), ...Object.keys(errors), ...Object.keys(passing));
    const { attempts, finish } = queueOf(
      t,
      (id, attempt) => errors[id] ?? (attempt === 1 ? passing[id as keyof typeof passing] : undefined),
    );
    await finish();
    const twice = Object.keys(passing).flatMap((id) => [id, id]);
    const [, ...once] = Object.keys(errors);
    assert.deepEqual(attempts.toSorted(), [...Array(MAX_ATTEMPTS).fill("a"), ...once, ...twice].toSorted());
  });

  test("a row that its service holds but does not work on is free after two renewals", async () => {
    await addEnded(tested.database(), "a");
    const leases = leasesOf();
    const { owner } = leases;
    await tested.database().write((db) => db.updateTable("tracking").set({ owner }).execute());
    let isAtWork = true;
    leases.watch("tracking", { isAtWork: () => isAtWork });
    const owners: unknown[] = [];
    for (let look = 0; look < 5; look += 1) {
      if (look === 2) isAtWork = false;
      await leases.look();
      owners.push((await waiting())[0]![1]);
    }
    assert.deepEqual(owners, [owner, owner, owner, null, null]);
  });
});

const folder = mkdtempSync(join(tmpdir(), "mucast-tracking-"));
mkdirSync(join(folder, SPACE, "data"), { recursive: true });
after(() => rmSync(folder, { recursive: true }));

test("a process with the tracker's credentials records a job; refusals are logged once, without them", {
  timeout: 600_000,
}, async (t) => {
  const tracker = await new FakeTracker().listen();
  t.after(() => tracker.close());
  const token = "planted-token";
  const env = {
    ...process.env,
    MLFLOW_TRACKING_URI: tracker.origin,
    MLFLOW_EXPERIMENT_NAME: "desk",
    MLFLOW_TRACKING_TOKEN: token,
  };
  const lines: string[] = [];
  const outcomes: string[] = [];
  const database = await openDatabase({ data_dir: mkdtempSync(join(folder, "database-")) });
  t.after(() => database.close());
  const policy = { allowed: [], mapped: [{ base: "", folder, root: folder }] };
  const tracking = openTracking({
    ...{ database, leases: new Leases({ database, log: noLog }), env, settings: loadSettings({}, env) },
    storage: { access: { blobUrl: "", policy } },
    log: openLog({ level: "debug", destination: { write: (line) => void lines.push(line) } }),
    telemetry: { requestProcessEnded: (kind, outcome) => void outcomes.push(`${kind} ${outcome}`) },
  })!;
  t.after(() => tracking.close());
  const [first, second, third] = [1, 2, 3].map((seed) => mlText({ tickers: ["A"], seed }));
  const texts = [first!, second!, "{}", third!];
  for (const [nth, text] of texts.entries())
    writeFileSync(join(folder, SPACE, "data", `ml_engine_${nth + 1}.json`), text);
  await addEnded(database, "1");
  tracking.wake();
  await eventuallyTrue("the job is recorded", () => outcomes.length > 0);
  assert.deepEqual([outcomes, lines], [["track done"], []]);
  assert.deepEqual([tracker.experiment, tracker.runs.map(({ status }) => status)], ["desk", ["FINISHED"]]);
  assert.equal(tracker.artifacts.get("1/run0/artifacts/ml_engine_1.json")!.toString(), texts[0]);
  assert.ok(tracker.asked.every(({ headers }) => headers.authorization === `Bearer ${token}`));
  tracker.next("runs/create", (to) => void to.writeHead(403).end(token));
  await addEnded(database, "2", "3", "4");
  tracking.wake();
  await eventuallyTrue("all jobs had an attempt", () => outcomes.length === 4);
  assert.deepEqual(outcomes.slice(1), ["track tracking_failed", "track unreadable_blob", "track done"]);
  await tracking.close();
  const logged = lines.map((line) => JSON.parse(line)).filter(({ level }) => level !== "debug");
  assert.deepEqual(
    logged.map((line) => [line.level, line.tracker]),
    [
      ["warn", tracker.origin],
      ["info", tracker.origin],
    ],
  );
  assert.ok(!lines.join().includes(token));
});
