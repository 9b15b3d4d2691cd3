import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { openLog } from "./log.ts";
import { noLog } from "./no-telemetry.testing.ts";
import { DELIVERY_OUTCOMES, openTelemetry, type Telemetry, type WatchedOperation } from "./telemetry.ts";

const open = () => openTelemetry({ log: noLog, env: {} });

/** The samples by name with labels. */
async function samples(telemetry: Telemetry): Promise<Map<string, number>> {
  const { body, contentType } = await telemetry.metrics();
  assert.match(contentType, /^text\/plain; version=0\.0\.4/);
  const lines = body.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
}

const operation: WatchedOperation = {
  id: "op-with-an-id",
  operation: "run_ml_job",
  status: "Running",
  attempt: 1,
  traceparent: null,
  created_at: new Date(0),
  started_at: new Date(2_000),
  attempt_started_at: new Date(2_000),
  finished_at: null,
  error: null,
};

it("docs/deploying.md names every metric of mucast, and no other", async () => {
  const docs = readFileSync(new URL("../../../docs/deploying.md", import.meta.url), "utf8");
  const { body } = await (await open()).metrics();
  const types = [...body.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  for (const [, name, type] of types) assert.equal(name!.endsWith("_total"), type === "counter", name);
  const real = types.flatMap(([, name]) => (name!.startsWith("mucast_") ? [name] : []));
  const documented = [...docs.matchAll(/^\| `(mucast_\w+)`/gm)].map(([, name]) => name);
  assert.deepEqual(documented.toSorted(), real.toSorted());
  const outcomes = docs.split("\n").find((line) => line.includes("mucast_webhook_deliveries_total"))!;
  for (const outcome of DELIVERY_OUTCOMES)
    assert.ok(outcomes.includes(`\`${outcome}\``), `${outcome} is not named`);
});

describe("the metrics", () => {
  it("count operations, their ends and their lost attempts", async () => {
    const telemetry = await open();
    telemetry.queued(operation);
    telemetry.queued(operation);
    telemetry.started(operation);
    telemetry.attemptLost(operation);
    telemetry.started({ ...operation, attempt: 2, attempt_started_at: new Date(9_000) });
    const error = problemOf(new MucastError("timed_out", "after 5 s"));
    const finished_at = new Date(12_000);
    telemetry.ended({ ...operation, status: "Failed", error, finished_at }, []);
    telemetry.ended({ ...operation, status: "Canceled", started_at: null, finished_at }, []);
    const found = await samples(telemetry);
    const job = 'operation="run_ml_job"';
    for (const [sample, value] of [
      [`mucast_operations_submitted_total{${job}}`, 2],
      [`mucast_attempts_started_total{${job}}`, 2],
      [`mucast_attempts_lost_total{${job}}`, 1],
      [`mucast_operations_ended_total{${job},status="Failed"}`, 1],
      [`mucast_operations_ended_total{${job},status="Canceled"}`, 1],
      [`mucast_operation_failures_total{${job},code="timed_out"}`, 1],
      [`mucast_operation_queue_seconds_sum{${job}}`, 2],
      [`mucast_operation_queue_seconds_count{${job}}`, 1],
      [`mucast_operation_run_seconds_sum{${job},status="Failed"}`, 10],
      [`mucast_operation_run_seconds_count{${job},status="Canceled"}`, undefined],
    ] as const)
      assert.equal(found.get(sample), value, sample);
    assert.ok(![...found.keys()].some((sample) => sample.includes(operation.id)));
  });

  it("read the queue and the running jobs when a client asks, and show the rest if that fails", async () => {
    const lines: string[] = [];
    const log = openLog({ level: "warn", destination: { write: (line) => void lines.push(line) } });
    const telemetry = await openTelemetry({ log, env: {} });
    let queue = Promise.resolve(7);
    const others = { runningJobs: () => 2, coresTaken: () => 3, requestProcesses: () => 1 };
    telemetry.gauges({ queueLength: () => queue, ...others });
    const gauges = ["operations_queued", "jobs_running", "cores_in_use", "request_processes_running"];
    const read = async () => {
      const found = await samples(telemetry);
      return gauges.map((name) => found.get(`mucast_${name}`));
    };
    assert.deepEqual(await read(), [7, 2, 3, 1]);
    queue = Promise.reject(new Error("the database is away"));
    assert.deepEqual(await read(), [undefined, 2, 3, 1]);
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, /a metric could not be read/);
  });

  it("begin at 0 for every known label, in each service, so that the first failure is an increase", async () => {
    (await open()).ended({ ...operation, status: "Succeeded", finished_at: new Date(5_000) }, []);
    const found = await samples(await openTelemetry({ log: noLog, env: {}, webhooks: [{ name: "desk" }] }));
    for (const sample of [
      'mucast_operation_failures_total{operation="run_dl_job",code="internal"}',
      'mucast_operations_ended_total{operation="run_ml_job",status="Succeeded"}',
      'mucast_attempts_lost_total{operation="replay"}',
      'mucast_request_processes_total{kind="report",outcome="process_lost"}',
      'mucast_webhook_deliveries_total{target="desk",outcome="failed"}',
    ]) {
      assert.equal(found.get(sample), 0, sample);
    }
  });
});
