import assert from "node:assert/strict";
import { test } from "node:test";
import { containerOrder } from "./run-job.ts";

test("a job that a service runs keeps to its caller's space, even if that is the root of the container", () => {
  const status = { OPERATION_ID: "op", MUCAST_STATUS_ATTEMPT: "1" };
  const space = "key-0123456789abcdef";
  for (const [env, expected] of [
    [status, { space: "", isOfService: true, attempt: 1 }],
    [{ MUCAST_BLOB_SPACE: space }, { space, isOfService: true, attempt: undefined }],
    [{ OPERATION_ID: "op" }, { space: "", isOfService: false, attempt: undefined }],
  ] as const)
    assert.partialDeepStrictEqual(containerOrder("run_ml_job", env), expected);
});

for (const [name, value] of [
  ["MUCAST_STATUS_ATTEMPT", "two"],
  ["MUCAST_BLOB_SPACE", "../x"],
  ["MUCAST_OPERATION", "run_dl_job"],
  ["MUCAST_OPTIONS", "[]"],
] as const) {
  test(`a job is refused if ${name} is ${value}`, () => {
    const env = { OPERATION_ID: "op", [name]: value };
    assert.throws(() => containerOrder("run_ml_job", env), {
      code: "invalid_request",
      message: new RegExp(name),
    });
  });
}
