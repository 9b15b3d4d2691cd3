/** A service whose jobs go to a cluster, over TLS: submitted and cancelled over HTTP. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ENDLESS } from "../../src/executors/process/jobs.testing.ts";
import { until } from "../end-to-end/commands/command.ts";
import { newFolder, removeFolders, withoutIdentity } from "../end-to-end/jobs/job-runs.ts";
import { makeCertificates } from "../servers/certificates.testing.ts";
import { PATIENT_HEALTH_CHECK, type RayCluster, startRayCluster } from "../servers/ray-cluster.testing.ts";
import { Api } from "../service/api.testing.ts";
import { payload, putInputs } from "../service/inputs.testing.ts";
import { endServices, type Serving, startServe } from "../service/service.testing.ts";

const NODES = ["127.0.0.1", "10.77.0.2", "10.77.0.3", "10.77.0.4"];
const CATBOOST = '{"ML params": {"model": "catboost", "n_splits": 2, "model_params": {"iterations": 3}}}';

let cluster: RayCluster;
let tls: Readonly<Record<string, string>>;
let serving: Serving;
let api: Api;
before(async () => {
  const { authority, certificate, key } = makeCertificates(await newFolder(), NODES);
  tls = {
    RAY_USE_TLS: "1",
    RAY_TLS_CA_CERT: authority,
    RAY_TLS_SERVER_CERT: certificate,
    RAY_TLS_SERVER_KEY: key,
  };
  const nodes = [{ name: "head", cpus: 0 }, { name: "a" }, { name: "b" }];
  cluster = await startRayCluster({ nodes, env: { ...tls, ...PATIENT_HEALTH_CHECK } });
  const engine = { MUCAST_ENGINE_URL: cluster.address, RAY_AUTH_TOKEN_PATH: cluster.tokenFile };
  serving = await startServe({ env: { ...tls, ...engine } });
  api = new Api(serving.url);
  await putInputs(api, "small");
});
after(async () => {
  await endServices();
  await cluster?.stop();
  await removeFolders();
});

/** The output of a job but for what names the run and its machine. */
async function outputOf(config: string): Promise<string> {
  const { id } = await api.submit(payload(serving.url, "small", config));
  const ended = await api.ended(id);
  assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
  const text = readFileSync(join(serving.dataDir, "blobs/data", `ml_engine_${id}.json`), "utf8");
  const { machine: _, ...compared } = JSON.parse(withoutIdentity(text).replaceAll(id, ""));
  return JSON.stringify(compared);
}

/** Ray's processes with a task, on both nodes. */
async function tasksOnNodes(): Promise<string[]> {
  const found = await Promise.all(["a", "b"].map((name) => cluster.processes(name)));
  const commands = found.flat().map(({ command }) => command);
  return commands.filter((command) => /^ray::mucast/.test(command));
}

describe("a service with a cluster", { timeout: 1_800_000 }, () => {
  test("names the cluster in its log, cancels a job on every node, and leaves the bytes of a service without one", async () => {
    assert.ok(serving.logs().includes(`"engine":"${cluster.address}"`), serving.logs());
    const { id } = await api.submit(payload(serving.url, "small", ENDLESS));
    await until(async () => ((await tasksOnNodes()).length === 2 ? true : undefined));
    await api.cancel(id);
    assert.equal((await api.ended(id)).status, "Canceled");
    await until(async () => ((await tasksOnNodes()).length === 0 ? true : undefined));

    const there = await outputOf(CATBOOST);
    await serving.terminate();
    serving = await startServe({ folder: serving.folder, port: serving.port });
    assert.equal(await outputOf(CATBOOST), there);
  });

  test("is not let in without a certificate", async () => {
    await serving.terminate();
    const engine = { MUCAST_ENGINE_URL: cluster.address, RAY_AUTH_TOKEN_PATH: cluster.tokenFile };
    serving = await startServe({ folder: serving.folder, port: serving.port, env: engine });
    const { id } = await api.submit(payload(serving.url, "small", CATBOOST));
    const { status, error } = await api.ended(id);
    assert.deepEqual([status, error?.code], ["Failed", "engine_unavailable"]);
  });
});
