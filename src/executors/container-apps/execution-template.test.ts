import assert from "node:assert/strict";
import { test } from "node:test";
import { blobLimits, limitsEnv } from "../../contract/blob-limits.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { JobOrder } from "../executor.ts";
import { JOB, ORDER } from "./container-apps.testing.ts";
import { carries, executionTemplate } from "./execution-template.ts";

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

test("a job gets its caller's space in a separate variable: its BLOB_URL may be a secret", () => {
  const space = "key-0123456789abcdef";
  const { env } = executionTemplate(job, "ml-worker-job", { ...ORDER, space }).containers![1]!;
  assert.deepEqual(
    env!.filter(({ name }) => /BLOB/.test(name!)),
    [
      { name: "BLOB_URL", value: "https://account.example/c" },
      { name: "MUCAST_BLOB_SPACE", value: space },
    ],
  );
});

test("the service's settings replace the job's own in the env", () => {
  const limits = limitsEnv({ tickers: 7, nameBytes: 2_048 });
  const old = { name: "MUCAST_BLOB_TICKERS", value: "1" };
  const set = { ...job, template: { containers: [{ ...own, env: [old] }] } };
  const [container] = executionTemplate(set, "ml-worker-job", ORDER, limits).containers!;
  assert.deepEqual(
    container!.env!.filter(({ name }) => name!.startsWith("MUCAST_BLOB")),
    [
      { name: "MUCAST_BLOB_TICKERS", value: "7" },
      { name: "MUCAST_BLOB_NAME_BYTES", value: "2048" },
    ],
  );
  assert.deepEqual(blobLimits(limits), { tickers: 7, nameBytes: 2_048 });
});

test("a job without a container of its name gets the order in its first container", () => {
  const template = executionTemplate(job, "another-name", ORDER);
  assert.equal(template.containers?.[0]?.env?.length, 6);
  assert.deepEqual(template.containers?.[1], own);
});

test("a config over 32 KiB is refused before anything starts", () => {
  const config = JSON.stringify({ text: "é".repeat(16_384) });
  const attempt = () => executionTemplate(job, "ml-worker-job", { ...ORDER, config });
  assert.throws(attempt, (error) => error instanceof MucastError && error.code === "too_large");
});

test("a job without a container fails with an error that says what to do", () => {
  const attempt = () => executionTemplate({ location: "here" }, "ml-worker-job", ORDER);
  assert.throws(attempt, /unavailable|deploy the job again/);
});

test("an execution belongs to an attempt only if both id and attempt number match", () => {
  const execution = { template: executionTemplate(job, "ml-worker-job", ORDER) };
  assert.ok(carries(execution, ORDER));
  assert.ok(!carries(execution, { ...ORDER, attempt: 2 }));
  assert.ok(!carries(execution, { ...ORDER, id: "op-2" }));
  assert.ok(!carries({}, ORDER));
});

test("an audit, a replay and a portable job add two variables to the same three inputs", () => {
  const added = (changes: Partial<JobOrder>) => {
    const { env } = executionTemplate(job, "ml-worker-job", { ...ORDER, ...changes }).containers![1]!;
    assert.ok(
      env!.some(({ name, value }) => name === "CONFIG" && value === (changes.config ?? ORDER.config)),
    );
    const variables = env!.filter(({ name }) => /^MUCAST_OP/.test(name!));
    return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
  };
  assert.deepEqual(added({ options: {} }), {});
  assert.deepEqual(added({ options: { portable: true } }), { MUCAST_OPTIONS: '{"portable":true}' });
  assert.deepEqual(added({ operation: "audit", options: { operation: "run_ml_job" } }), {
    MUCAST_OPERATION: "audit",
    MUCAST_OPTIONS: '{"operation":"run_ml_job"}',
  });
  const options = { output_url: "https://account.example/c/data/ml_engine_1.json" };
  assert.deepEqual(added({ operation: "replay", config: "", options }), {
    MUCAST_OPERATION: "replay",
    MUCAST_OPTIONS: JSON.stringify(options),
  });
});
