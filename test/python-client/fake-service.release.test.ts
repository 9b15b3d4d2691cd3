/** The Python client without a service: its types, and its tests with a fake one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CLIENT_FOLDER, clientPython, clientTests } from "./python-client.testing.ts";

test("the Python client has the types that it says, strictly", { timeout: 600_000 }, async () => {
  const config = ["--config-file", `${CLIENT_FOLDER}/pyproject.toml`];
  const folders = [`${CLIENT_FOLDER}/mucast_client`, `${CLIENT_FOLDER}/tests`];
  const { code, stdout, stderr } = await clientPython(["-m", "mypy", ...config, ...folders]);
  assert.equal(code, 0, stdout + stderr);
});

test("the Python client passes its tests with a fake service", { timeout: 600_000 }, async () => {
  const { code, stdout, stderr } = await clientTests("not service");
  assert.equal(code, 0, stdout + stderr);
});
