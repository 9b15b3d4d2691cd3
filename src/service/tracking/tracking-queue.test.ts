import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { openLog } from "../telemetry/log.ts";
import { MAX_ATTEMPTS, MAX_WAITING, type TrackingPace, TrackingQueue } from "./tracking-queue.ts";

const URL_OF_TRACKER = "https://mlflow.example";
const away = new MucastError("tracking_failed", "it is away", { passing: true });
const refusal = new MucastError("tracking_failed", "it refuses", { passing: false });
const jobOf = (id: string) => ({ id, space: "", operation: "run_ml_job" as const });

/**
 * A queue whose tracker is a function.
 * @param outcome of an attempt at the output of this id: an error, or undefined if it is recorded.
 */
function queueOf(outcome: (id: string, attempt: number) => unknown, pace: Partial<TrackingPace> = {}) {
  const lines: { level: string; msg: string; lost?: number; operation_id?: string }[] = [];
  const attempts: string[] = [];
  const delays: number[] = [];
  const idle = Promise.withResolvers<void>();
  const log = openLog({ level: "info", destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const retryDelay = (failures: number) => {
    delays.push(failures);
    return 0;
  };
  const queue: TrackingQueue = new TrackingQueue({
    url: URL_OF_TRACKER,
    log,
    pace: { retryDelay, closeMilliseconds: 600_000, ...pace },
    record: async ({ id, name }, signal) => {
      if (id === "last") return idle.resolve();
      assert.equal(name, `ml_engine_${id}.json`);
      attempts.push(id);
      const error = await outcome(id, attempts.filter((other) => other === id).length);
      if (error !== undefined) throw error;
      signal.throwIfAborted();
    },
  });
  /** Waits until all outputs that were added have had their attempts. */
  const finish = async () => {
    queue.add(jobOf("last"));
    await idle.promise;
    await queue.close();
  };
  return { queue, lines, attempts, delays, finish };
}

test("records outputs one after the other, and logs nothing", async () => {
  let running = 0;
  const { queue, lines, attempts, finish } = queueOf(async () => {
    running += 1;
    assert.equal(running, 1);
    await new Promise(setImmediate);
    running -= 1;
  });
  for (const id of ["a", "b", "c"]) queue.add(jobOf(id));
  await finish();
  assert.deepEqual([attempts, lines], [["a", "b", "c"], []]);
});

test("a tracker that is away is logged once, and once when it is back", async () => {
  const { queue, lines, attempts, delays, finish } = queueOf((id, attempt) =>
    id === "a" && attempt < 4 ? away : undefined,
  );
  for (const id of ["a", "b"]) queue.add(jobOf(id));
  await finish();
  assert.deepEqual(attempts, ["a", "a", "a", "a", "b"]);
  assert.deepEqual(delays, [1, 2, 3]);
  assert.deepEqual(
    lines.map(({ level, msg, lost, operation_id }) => [level, msg, lost, operation_id]),
    [
      ["warn", "jobs cannot be recorded in MLflow; a line will say when they are again", undefined, "a"],
      ["info", "jobs are recorded in MLflow again", 0, undefined],
    ],
  );
});

test("an output has a limited number of attempts, and a refused one has a single attempt", async () => {
  const { queue, lines, attempts, finish } = queueOf((id) => ({ a: away, b: refusal })[id]);
  for (const id of ["a", "b", "c"]) queue.add(jobOf(id));
  await finish();
  assert.deepEqual(attempts, [...Array(MAX_ATTEMPTS).fill("a"), "b", "c"]);
  assert.deepEqual(
    lines.map(({ level, lost }) => [level, lost]),
    [
      ["warn", undefined],
      ["info", 2],
    ],
  );
});

test("errors of the process or the storage are tried again, and others are not", async () => {
  const errors: Record<string, unknown> = {
    killed: new MucastError("process_lost", "killed"),
    late: new MucastError("timed_out", "late"),
    storage: new MucastError("blob_unavailable", "away"),
    gone: new MucastError("blob_not_found", "gone"),
    contradictory: new MucastError("invalid_data", "no report"),
    defect: new TypeError("a defect"),
  };
  const { queue, attempts, finish } = queueOf((id, attempt) => (attempt === 1 ? errors[id] : undefined));
  for (const id of Object.keys(errors)) queue.add(jobOf(id));
  await finish();
  const twice = ["killed", "late", "storage"].flatMap((id) => [id, id]);
  assert.deepEqual(attempts, [...twice, "gone", "contradictory", "defect"]);
});

test("outputs beyond the limit are counted, and all that wait at the end are logged", async () => {
  const held = Promise.withResolvers<undefined>();
  const { queue, lines } = queueOf(() => held.promise);
  for (let k = 0; k < MAX_WAITING + 5; k++) queue.add(jobOf(`job${k}`));
  const closed = queue.close();
  held.resolve(undefined);
  await closed;
  assert.deepEqual(
    lines.map(({ level, lost, msg }) => [level, lost, msg]),
    [["warn", MAX_WAITING + 4, "the service ends before it has recorded all jobs in MLflow"]],
  );
});

test("closing ends a pause at once, and aborts an attempt that takes too long", async () => {
  const began = Promise.withResolvers<void>();
  const paused = queueOf(
    () => {
      setImmediate(began.resolve);
      return away;
    },
    { retryDelay: () => 600_000 },
  );
  paused.queue.add(jobOf("a"));
  await began.promise;
  await paused.queue.close();
  const slow: TrackingQueue = new TrackingQueue({
    url: URL_OF_TRACKER,
    log: openLog({ level: "error", destination: { write: () => undefined } }),
    pace: { retryDelay: () => 0, closeMilliseconds: 1 },
    record: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", reject)),
  });
  slow.add(jobOf("a"));
  await slow.close();
});
