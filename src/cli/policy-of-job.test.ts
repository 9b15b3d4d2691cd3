import assert from "node:assert/strict";
import { test } from "node:test";
import { policyOfJob } from "./jobs/run-job.ts";

const BLOB_URL = "https://acct.blob.example.net/models";
const SPACE = "key-0123456789abcdef";
const NAMED = [`${BLOB_URL}/key-00000000000000be/data/feature_engine_1.json`];

test("a job that a service runs keeps to its caller's space, even if that is the root of the container", () => {
  const service = { BLOB_URL, OPERATION_ID: "op", MUCAST_STATUS_ATTEMPT: "1" };
  assert.deepEqual(policyOfJob(service, NAMED).own, { space: "", named: NAMED });
  assert.deepEqual(policyOfJob({ ...service, MUCAST_BLOB_SPACE: SPACE }, NAMED).own, {
    space: SPACE,
    named: NAMED,
  });
  assert.deepEqual(policyOfJob({ BLOB_URL, MUCAST_BLOB_SPACE: SPACE }, NAMED).own, {
    space: SPACE,
    named: NAMED,
  });
});

test("a job that a user runs directly reads whatever the credentials for BLOB_URL can access", () => {
  assert.equal(policyOfJob({ BLOB_URL }, NAMED).own, undefined);
});
