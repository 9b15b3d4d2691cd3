/** The Python client with a real service. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { withKeys } from "../../src/cli/keys.ts";
import type { OperationPage } from "../../src/client/index.ts";
import { eventuallyTrue } from "../service/eventually.testing.ts";
import { endServices, startServe } from "../service/service.testing.ts";
import { clientTests, startClientPython } from "./python-client.testing.ts";

after(endServices);

test("the Python client passes its tests with a service that requires a key", {
  timeout: 600_000,
}, async () => {
  const { url, dataDir } = await startServe({ env: { MUCAST_AUTH: "keys" } });
  const { token } = await withKeys({ data_dir: dataDir }, (keys) =>
    keys.create("notebook", ["read", "write"]),
  );
  const env = { MUCAST_TEST_SERVICE: url, MUCAST_TEST_KEY: token, MUCAST_TEST_NODE: process.execPath };
  const { code, stdout, stderr } = await clientTests("service", env);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^\d+ passed, \d+ deselected/m);
  assert.ok(!`${stdout}${stderr}`.includes(token));
});

/** Follows a job for as long as the service is away: on a busy machine, its start may take minutes. */
const PROGRAM = `
import sys
from pathlib import Path
from mucast_client import Client, events
events.MAX_FAILURES_IN_A_ROW = sys.maxsize
data = Path("test/cases/tiny/data")
result = Client(sys.argv[1]).run_ml_job(
    features=data / "feature_engine_tiny.json",
    prices=data / "data_extractor_tiny.json",
    config={"ML params": {"model": "ridge", "cv_test_size": 3, "n_splits": 5}},
)
print(result.id, len(result.mu))
`;

test("a job that a Python program waits for outlives its service, and runs once", {
  timeout: 600_000,
}, async () => {
  const first = await startServe();
  const program = startClientPython(["-c", PROGRAM, first.url]);
  await eventuallyTrue("it follows a job", async () => /^run_ml_job [\w-]+$/m.test(program.stderr()));
  await first.kill9();
  const second = await startServe({ folder: first.folder, port: first.port });
  const { code, stdout, stderr } = await program.ended;
  assert.equal(code, 0, stderr);
  const { operations } = (await (await fetch(`${second.url}/v1/operations`)).json()) as OperationPage;
  assert.equal(stdout, `${operations.map(({ id }) => id).join()} 3\n`);
});
