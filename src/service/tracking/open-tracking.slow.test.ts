import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { eventuallyTrue } from "../../../test/service/eventually.testing.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import { mlText } from "../../outputs/outputs.testing.ts";
import { FakeTracker } from "../../tracking/fake-tracker.testing.ts";
import { openDatabase } from "../database/database.ts";
import { newRow } from "../database/databases.testing.ts";
import { Leases } from "../queue/leases.ts";
import { loadSettings } from "../settings/load-settings.ts";
import { openLog } from "../telemetry/log.ts";
import { noLog } from "../telemetry/no-telemetry.testing.ts";
import { isTracked, openTracking, trackerOfService } from "./tracking-queue.ts";

const TOKEN = "planted-token";
const SPACE = "key-0123456789abcdef";
const folder = mkdtempSync(join(tmpdir(), "mucast-open-tracking-"));
mkdirSync(join(folder, SPACE, "data"), { recursive: true });
after(() => rmSync(folder, { recursive: true }));

function stored(id: string, text: string) {
  writeFileSync(join(folder, SPACE, "data", `ml_engine_${id}.json`), text);
  return { id };
}

async function open(t: TestContext) {
  const there = await new FakeTracker().listen();
  t.after(() => there.close());
  const lines: string[] = [];
  const outcomes: string[] = [];
  const policy = { allowed: [], mapped: [{ base: "", folder, root: folder }] };
  const env = {
    ...process.env,
    MLFLOW_TRACKING_URI: there.origin,
    MLFLOW_EXPERIMENT_NAME: "desk",
    MLFLOW_TRACKING_TOKEN: TOKEN,
  };
  const database = await openDatabase({ data_dir: mkdtempSync(join(folder, "database-")) });
  t.after(() => database.close());
  const tracking = openTracking({
    database,
    leases: new Leases({ database, log: noLog }),
    settings: loadSettings({}, env),
    env,
    storage: { access: { blobUrl: "", policy } },
    log: openLog({ level: "debug", destination: { write: (line) => void lines.push(line) } }),
    telemetry: { requestProcessEnded: (kind, outcome) => void outcomes.push(`${kind} ${outcome}`) },
  })!;
  t.after(() => tracking.close());
  const add = async (...jobs: readonly { readonly id: string }[]) => {
    await database.write(async (db) => {
      for (const [nth, { id }] of jobs.entries()) {
        await db
          .insertInto("operations")
          .values({ ...newRow(id, "me"), space: SPACE })
          .execute();
        await db
          .insertInto("tracking")
          .values({ id, next_at: database.time(nth - 60) })
          .execute();
      }
    });
    tracking.wake();
  };
  return { there, lines, outcomes, tracking, add };
}

test("a job is recorded by a process that gets the credentials of the tracker", {
  timeout: 600_000,
}, async (t) => {
  const { there, lines, outcomes, add } = await open(t);
  const text = mlText({ tickers: ["A"] });
  await add(stored("1", text));
  await eventuallyTrue("the job is recorded", () => outcomes.length > 0);
  assert.deepEqual([outcomes, lines], [["track done"], []]);
  assert.deepEqual([there.experiment, there.runs.map(({ status }) => status)], ["desk", ["FINISHED"]]);
  assert.equal(there.artifacts.get("1/run0/artifacts/ml_engine_1.json")!.toString(), text);
  assert.ok(there.asked.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`));
});

test("a refusal and an output without a report are logged once, without credentials", {
  timeout: 600_000,
}, async (t) => {
  const { there, lines, outcomes, tracking, add } = await open(t);
  there.next("runs/create", (to) => void to.writeHead(403).end(TOKEN));
  await add(
    stored("2", mlText({ tickers: ["A"] })),
    stored("3", "{}"),
    stored("4", mlText({ tickers: ["A"], seed: 4 })),
  );
  await eventuallyTrue("all jobs had an attempt", () => outcomes.length === 3);
  assert.deepEqual(outcomes, ["track tracking_failed", "track unreadable_blob", "track done"]);
  await tracking.close();
  const logged = lines.map((line) => JSON.parse(line)).filter(({ level }) => level !== "debug");
  assert.deepEqual(
    logged.map(({ level, tracker }) => [level, tracker]),
    [
      ["warn", there.origin],
      ["info", there.origin],
    ],
  );
  assert.ok(!lines.join().includes(TOKEN));
});

test("jobs are recorded, and audits are not", () => {
  assert.deepEqual(
    [isTracked({ operation: "run_dl_job" }), isTracked({ operation: "audit" })],
    [true, false],
  );
});

test("the settings of a tracker are checked", () => {
  const refusal = (env: Record<string, string>): MucastError => {
    try {
      trackerOfService(loadSettings({}, env), env);
    } catch (error) {
      return error as MucastError;
    }
    throw new Error("accepted");
  };
  const password = refusal({ MLFLOW_TRACKING_URI: "https://me:planted@x.example" });
  assert.match(
    password.message,
    /^MLFLOW_TRACKING_URI: must be the http or https URL .* without a user name/,
  );
  const plain = refusal({ MLFLOW_TRACKING_URI: "http://x.example", MLFLOW_TRACKING_TOKEN: "planted" });
  assert.match(plain.message, /^MLFLOW_TRACKING_TOKEN: is only sent over https/);
  assert.ok(!JSON.stringify([password, plain]).includes("planted"));
  assert.equal(trackerOfService(loadSettings({}, {}), { MLFLOW_TRACKING_TOKEN: "t" }), undefined);
});
