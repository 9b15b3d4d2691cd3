/** The environment of networks for CPUs only: it gives the same bytes, and refuses a GPU. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { LOSS_TYPES } from "../../../src/contract/config/networks.ts";
import { MucastError } from "../../../src/contract/errors/errors.ts";
import { LIBRARIES } from "../../../src/engine/environment/engine-status.ts";
import { installedEnvironment, PYTHON_VARIABLE } from "../../../src/engine/environment/environment.ts";
import { installEnvironment } from "../../../src/engine/environment/install-environment.ts";
import { EnginePool } from "../../../src/engine/pool/pool.ts";
import { runDlJob } from "../../../src/jobs/run-job.ts";
import type { JobEngine, OpenEngine } from "../../../src/jobs/shared/job.ts";
import { openWorkFolder } from "../../../src/jobs/shared/work-folder.ts";
import { type BlobPair, removeFolders, runJob, withoutIdentity, writeMarket } from "../jobs/job-runs.ts";
import { smallMarket } from "../markets/network-market.ts";
import { JOINT, networkConfig, PER_TICKER } from "./network-jobs.ts";

let blobs: BlobPair;
/** The interpreters with CUDA and without, and an engine of each. */
let pythons: Record<"whole" | "cpu", string>;
const engines = new Map<string, JobEngine>();

before(
  async () => {
    delete process.env[PYTHON_VARIABLE];
    const { python: cpu } = await installEnvironment({ flavour: "dl-cpu", report: console.error });
    pythons = { whole: installedEnvironment("dl")!.python, cpu };
    blobs = await writeMarket(smallMarket());
  },
  { timeout: 600_000 },
);
after(async () => {
  for (const engine of engines.values()) await engine.close();
  await removeFolders();
});

/** The jobs of an interpreter share an engine, because importing PyTorch takes most of their time. */
function engineOf(python: string): OpenEngine {
  return ({ workers }) => {
    const engine = engines.get(python) ?? start(workers);
    engines.set(python, engine);
    const workFolder = join(engine.workFolder, `job${readdirSync(engine.workFolder).length}`);
    mkdirSync(workFolder);
    return { ...engine, workFolder, close: async () => undefined };
  };
  function start(workers: number): JobEngine {
    const work = openWorkFolder();
    const pool = EnginePool.start({ python, libraries: LIBRARIES.dl, workers, workFolder: work.path });
    const close = () => pool.close().then(() => work.remove());
    return { pool, workFolder: work.path, close };
  }
}

const outputOf = async (python: string, config: string) =>
  withoutIdentity((await runJob(blobs, config, 1, runDlJob, engineOf(python))).text);

const CONFIGS = new Map([
  ...[...PER_TICKER, ...JOINT].map((option) => [option, networkConfig(option, { intervals: {} })] as const),
  ...LOSS_TYPES.map((loss_type) => {
    const option = loss_type === "mahalanobis" ? "portfolio_transformer" : "mlp";
    return [
      `${option} with the loss ${loss_type}`,
      networkConfig(option, { training: { loss_type } }),
    ] as const;
  }),
]);

describe("the environment for CPUs only", { timeout: 600_000 }, () => {
  for (const [name, config] of CONFIGS) {
    test(`gives the same output of ${name} as the one with CUDA`, async () => {
      const outputs = [await outputOf(pythons.cpu, config), await outputOf(pythons.whole, config)];
      assert.equal(outputs[0], outputs[1]);
    });
  }

  test("refuses a GPU with the command that installs what it needs", async () => {
    const config = networkConfig("mlp", { global: { device: "cuda" } });
    await assert.rejects(
      runJob(blobs, config, 1, runDlJob, engineOf(pythons.cpu)),
      (error) =>
        error instanceof MucastError &&
        error.code === "device_unavailable" &&
        /cuda is not there \(this environment is for CPUs only; `mucast setup --dl` installs/.test(
          error.message,
        ),
    );
  });
});
