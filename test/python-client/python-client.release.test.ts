/** The Python client with a real service. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { endServices, startServe } from "../service/service.testing.ts";
import { clientTests } from "./python-client.testing.ts";

after(endServices);

test("the Python client passes its tests with a service", { timeout: 600_000 }, async () => {
  const { url } = await startServe();
  const { code, stdout, stderr } = await clientTests("service", { MUCAST_TEST_SERVICE: url });
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^\d+ passed, \d+ deselected/m);
});
