import assert from "node:assert/strict";
import { test } from "node:test";
import { blobLimits, limitsEnv } from "../../contract/blob-limits.ts";
import type { JobOrder } from "../executor.ts";
import { JOB, ORDER } from "./container-apps.testing.ts";
import { carries, executionTemplate } from "./jobs-api.ts";

const job = { location: "here", template: JOB.properties.template };
const [proxy, own] = job.template.containers;

test("keeps the job's whole template, with the order in the env of the container that has the job's name", () => {
  const template = executionTemplate(job, "ml-worker-job", { ...ORDER, traceparent: "00-1-2-01" });
  assert.deepEqual(template.initContainers, job.template.initContainers);
  assert.deepEqual(template.containers?.[0], proxy);
  const { env, ...rest } = template.containers![1]!;
  const { env: _, ...before } = own!;
  assert.deepEqual(rest, before);
  assert.deepEqual(env, [
    { name: "BLOB_URL", value: "https://account.example/c" },
    { name: "PASSWORD", secretRef: "password" },
    { name: "FEATURE_URL", value: ORDER.featureUrl },
    { name: "DATA_EXTRACTOR_URL", value: ORDER.dataExtractorUrl },
    { name: "CONFIG", value: ORDER.config },
    { name: "OPERATION_ID", value: "op-1" },
    { name: "MUCAST_STATUS_ATTEMPT", value: "1" },
    { name: "TRACEPARENT", value: "00-1-2-01" },
  ]);
});

/** The variables of a container whose names begin like this, for an order with these changes. */
function variables(prefix: string, changes: Partial<JobOrder> = {}, settings = {}, of: typeof own = own) {
  const set = { ...job, template: { containers: [of!] } };
  const { env = [] } = executionTemplate(set, "ml-worker-job", { ...ORDER, ...changes }, settings)
    .containers![0]!;
  const found = env.filter(({ name }) => name!.startsWith(prefix));
  return Object.fromEntries(found.map(({ name, value }) => [name, value]));
}

test("a job gets its caller's space in a separate variable: its BLOB_URL may be a secret", () => {
  const space = "key-0123456789abcdef";
  assert.deepEqual(variables("MUCAST_BLOB", { space }), { MUCAST_BLOB_SPACE: space });
  assert.deepEqual(variables("BLOB", { space }), { BLOB_URL: "https://account.example/c" });
});

test("the service's settings replace the job's own in the env", () => {
  const limits = limitsEnv({ tickers: 7, nameBytes: 2_048 });
  const old = { ...own!, env: [{ name: "MUCAST_BLOB_TICKERS", value: "1" }] };
  assert.deepEqual(variables("MUCAST_BLOB", {}, limits, old), limits);
  assert.deepEqual(blobLimits(limits), { tickers: 7, nameBytes: 2_048 });
});

test("a job without a container of its name gets the order in its first container; one without a container fails", () => {
  const template = executionTemplate(job, "another-name", ORDER);
  assert.equal(template.containers?.[0]?.env?.length, 6);
  assert.deepEqual(template.containers?.[1], own);
  const attempt = () => executionTemplate({ location: "here" }, "ml-worker-job", ORDER);
  assert.throws(attempt, /deploy the job again/);
});

test("an execution belongs to an attempt only if both id and attempt number match", () => {
  const execution = { template: executionTemplate(job, "ml-worker-job", ORDER) };
  assert.ok(carries(execution, ORDER));
  for (const changes of [{ attempt: 2 }, { id: "op-2" }])
    assert.ok(!carries(execution, { ...ORDER, ...changes }));
  assert.ok(!carries({}, ORDER));
});

test("an audit, a replay and a portable job add two variables", () => {
  const output_url = "https://account.example/c/data/ml_engine_1.json";
  for (const [changes, added] of [
    [{ options: {} }, {}],
    [{ options: { portable: true } }, { MUCAST_OPTIONS: '{"portable":true}' }],
    [
      { operation: "audit", options: { operation: "run_ml_job" } },
      { MUCAST_OPERATION: "audit", MUCAST_OPTIONS: '{"operation":"run_ml_job"}' },
    ],
    [
      { operation: "replay", config: "", options: { output_url } },
      { MUCAST_OPERATION: "replay", MUCAST_OPTIONS: JSON.stringify({ output_url }) },
    ],
  ] as const)
    assert.deepEqual(variables("MUCAST_OP", changes), added);
});
