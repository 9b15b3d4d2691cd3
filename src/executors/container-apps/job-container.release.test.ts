/** Runs a job as a container does: the command of the image, with only the env of an execution. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openStore } from "../../blob/open-store.ts";
import { findEnvironment } from "../../engine/environment/environment.ts";
import { readStatus } from "../status-blobs.ts";
import { MAX_WAIT_MS, ORDER, Stage } from "./container-apps.testing.ts";
import type { FakeExecution } from "./fake-management-api.testing.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-container-"));
const containers: ChildProcess[] = [];
after(() => {
  for (const container of containers) container.kill();
  rmSync(folder, { recursive: true, force: true });
});
cpSync("test/cases/tiny/data", join(folder, "data"), { recursive: true });

const config = readFileSync("test/cases/tiny/config.json", "utf8");
const order = {
  ...ORDER,
  featureUrl: join(folder, "data/feature_engine_tiny.json"),
  dataExtractorUrl: join(folder, "data/data_extractor_tiny.json"),
  config,
};

/** Runs the container of an execution as a process. Its exit code decides the state that Azure would report. */
function run({ template, properties }: FakeExecution): void {
  const [{ args, env } = { env: [] }] = template.containers.filter(({ name }) => name === "ml-worker-job");
  const values = env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]));
  const child = spawn(process.execPath, ["src/cli/main.ts", ...(args ?? [])], {
    stdio: "ignore",
    env: { MUCAST_PYTHON: findEnvironment("ml").python, ...Object.fromEntries(values), BLOB_URL: folder },
  });
  containers.push(child);
  child.once("exit", (code) => {
    properties.status = code === 0 ? "Succeeded" : "Failed";
  });
}

async function stageWithContainers() {
  const stage = await Stage.open();
  after(() => stage.close());
  stage.api.onStart = run;
  const store = await openStore(folder, { policy: { allowed: [] } });
  after(() => store.close());
  const executor = await stage.executor({
    pollMs: 20,
    readStatus: (id, attempt) => readStatus(store, id, attempt),
  });
  return { stage, executor };
}

test("the job's own status blob tells its warnings, its timings and its record", {
  timeout: MAX_WAIT_MS,
}, async () => {
  const { stage, executor } = await stageWithContainers();
  const end = await (await executor.start(order, stage)).ended;
  assert.ok(end.kind === "succeeded", JSON.stringify(end));
  assert.equal(end.record.output_name, "ml_engine_op-1.json");
  assert.deepEqual(
    Object.keys(JSON.parse(readFileSync(join(folder, "data/ml_engine_op-1.json"), "utf8")).mu),
    ["ALFA", "BETA", "GAMA"],
  );
  assert.ok(stage.batches.some(({ warnings }) => warnings !== undefined));
  assert.ok(stage.timings.length > 0);
});

test("an execution of the job audits its inputs, or replays an output", {
  timeout: MAX_WAIT_MS,
}, async () => {
  const { stage, executor } = await stageWithContainers();
  const output_url = join(folder, "data/ml_engine_op-1.json");
  for (const changes of [
    {
      id: "op-3",
      operation: "replay",
      featureUrl: "",
      dataExtractorUrl: "",
      config: "",
      options: { output_url },
    },
    { id: "op-4", operation: "audit", options: { checks: ["truncation"], truncations: 1, quick: true } },
  ] as const) {
    const end = await (await executor.start({ ...order, ...changes }, stage)).ended;
    assert.ok(end.kind === "succeeded", JSON.stringify(end));
    const { output_name, execution_name } = end.record;
    assert.equal(output_name, `${changes.operation}_${changes.id}.json`);
    assert.match(execution_name, /^ml-worker-job-/);
    const { verdict } = JSON.parse(readFileSync(join(folder, "data", output_name), "utf8"));
    assert.equal(verdict, changes.operation === "replay" ? "identical" : "clean");
  }
});

test("a job that fails tells its problem by its status blob", { timeout: MAX_WAIT_MS }, async () => {
  const { stage, executor } = await stageWithContainers();
  const featureUrl = join(folder, "data/feature_engine_none.json");
  const end = await (await executor.start({ ...order, id: "op-2", featureUrl }, stage)).ended;
  assert.equal(end.kind === "failed" && end.problem.code, "blob_not_found", JSON.stringify(end));
});
