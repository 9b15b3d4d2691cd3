/** A service as a pod of infra/kubernetes runs it: a read-only root, no privileges, no home, and a folder for temporary files. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { Api } from "../service/api.testing.ts";
import { payload, putInputs } from "../service/inputs.testing.ts";
import { endServices, startServe } from "../service/service.testing.ts";
import { confined, unconfined } from "./confined.testing.ts";

after(() => endServices());

test("on a read-only root, without privileges or a home, it runs a job, prepares a CSV and draws a report", {
  timeout: 600_000,
  skip: unconfined,
}, async () => {
  const serving = await startServe({
    env: { HOME: "/nonexistent", MUCAST_PYTHON: findEnvironment("ml").python },
    through: confined("pod"),
  });
  const status = readFileSync(`/proc/${serving.pid}/status`, "utf8");
  assert.match(status, /^CapBnd:\t0+$/m);
  assert.match(status, /^CapEff:\t0+$/m);
  assert.match(status, /^NoNewPrivs:\t1$/m);
  const root = `/proc/${serving.pid}/root`;
  for (const place of ["/", "/usr", process.cwd()]) {
    const tried = spawnSync("touch", [`${root}${place}/mucast-read-only`], { encoding: "utf8" });
    assert.match(tried.stderr, /Read-only file system/, place);
  }
  const api = new Api(serving.url);
  await putInputs(api, "small");
  const ended = await api.submit(payload(serving.url, "small"), { prefer: "wait=60" });
  assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
  const report = await api.ask("GET", `/v1/operations/${ended.id}/report`);
  assert.equal(report.status, 200, report.text);
  const dates = Array.from({ length: 28 }, (_, day) => `2024-02-${String(day + 1).padStart(2, "0")}`);
  const csv = ["Date,A,B", ...dates.map((date, day) => `${date},${100 + day},${50 + (day % 3)}`)].join("\n");
  const prepared = await api.ask("POST", "/v1/prepare", csv);
  assert.equal(prepared.status, 200, prepared.text);
  assert.equal((await api.ask("GET", "/readyz")).status, 200);
  assert.doesNotMatch(serving.logs(), /EROFS|EACCES|EPERM|read-only/i);
});
