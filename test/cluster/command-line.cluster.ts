/** The command line takes a job to a real cluster of two nodes, and leaves what it leaves here. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { jobArguments, mucast } from "../end-to-end/commands/command.ts";
import { removeFolders, withoutIdentity, writeMarket } from "../end-to-end/jobs/job-runs.ts";
import { cleanMarket } from "../end-to-end/markets/market.ts";
import { PATIENT_HEALTH_CHECK, startRayCluster } from "../servers/ray-cluster.testing.ts";

after(removeFolders);

const CONFIG = '{"ML params": {"model": "catboost", "n_splits": 2, "model_params": {"iterations": 3}}}';

test("a job on a cluster of two nodes leaves the bytes of the job on this machine, and no token", {
  timeout: 1_800_000,
}, async () => {
  const blobs = await writeMarket(cleanMarket());
  const cluster = await startRayCluster({
    nodes: [{ name: "head" }, { name: "second" }],
    env: PATIENT_HEALTH_CHECK,
  });
  try {
    const outputs = [];
    for (const more of [["--engine", cluster.address], []]) {
      const env = { RAY_AUTH_TOKEN_PATH: cluster.tokenFile };
      const { code, stdout, stderr } = await mucast([...jobArguments(blobs, CONFIG), ...more], { env });
      assert.equal(code, 0, stderr);
      const text = readFileSync(fileURLToPath(JSON.parse(stdout).output_url), "utf8");
      assert.ok(![stdout, stderr, text].join("").includes(readFileSync(cluster.tokenFile, "utf8").trim()));
      const { machine: _, ...compared } = JSON.parse(withoutIdentity(text));
      outputs.push(JSON.stringify(compared));
    }
    assert.equal(outputs[0], outputs[1]);
  } finally {
    await cluster.stop();
  }
});
