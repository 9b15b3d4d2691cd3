/**
 * What run_dl_job writes, and which processes and files remain, when its processes die while a network trains. The tests wait for reports
 * of the job or for processes, never for a time.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runDlJob } from "../../../src/jobs/run-job.ts";
import type { OpenEngine } from "../../../src/jobs/shared/job.ts";
import { engineProcesses } from "../../engine/pool-fixture.ts";
import {
  inputArguments,
  jsonLines,
  processesIn,
  type Running,
  startMucast,
  until,
} from "../commands/command.ts";
import {
  type BlobPair,
  type Job,
  newFolder,
  removeFolders,
  runJob,
  withoutIdentity,
  writeMarket,
} from "../jobs/job-runs.ts";
import { openSharedEngine } from "../jobs/shared-engines.ts";
import { smallMarket, without } from "../markets/network-market.ts";
import { networkConfig } from "./network-jobs.ts";

const options = {
  concurrency: 2,
  timeout: 600_000,
  skip: process.platform !== "linux" && "looks into /proc",
};

/** Training that lasts long enough to be caught while it runs. */
const LSTM_ENSEMBLE = networkConfig("lstm", {
  training: { epochs: 20, patience: 60, learning_rate: 1e-4, ensemble: 3 },
  intervals: {},
});
/** More epochs than a test waits for. */
const ENDLESS = networkConfig("lstm", { training: { epochs: 10_000, patience: 10_000, ensemble: 3 } });

let pair: BlobPair;
before(async () => {
  pair = await writeMarket(without(smallMarket(), "JPM", "KO"));
});
after(removeFolders);

async function startJob(config: string): Promise<{ job: Running; temporary: string; blobUrl: string }> {
  const [temporary, blobUrl] = [await newFolder(), join(await newFolder(), "blobs")];
  const more = ["--workers", "1", "--log", "json", "--blob-url", blobUrl];
  const job = await startMucast(["run_dl_job", ...inputArguments(pair, config), ...more], { temporary });
  return { job, temporary, blobUrl };
}

/** Resolves in the middle of training, after the third epoch. */
const training = (job: Running) => job.told(({ stage, epoch }) => stage === "fit" && Number(epoch) >= 3);

function leftIn(temporary: string): string[] {
  return readdirSync(temporary);
}

test(
  "kill -9 of a worker while it trains a member of an ensemble costs one attempt: the job succeeds with the same bytes",
  options,
  async () => {
    const undisturbed = await runJob(pair, LSTM_ENSEMBLE, 1, runDlJob);
    let folder = "";
    const openHere: OpenEngine = (need) => {
      const engine = openSharedEngine(need);
      folder = dirname(engine.workFolder);
      return engine;
    };
    const killed: number[] = [];
    const job: Job = (request, context) =>
      runDlJob(request, {
        ...context,
        report: (event) => {
          context.report(event);
          if (killed.length > 0 || event.kind !== "progress" || !(Number(event.epoch) >= 3)) return;
          killed.push(...engineProcesses(folder).workers);
          for (const pid of killed) process.kill(pid, "SIGKILL");
        },
      });
    const disturbed = await runJob(pair, LSTM_ENSEMBLE, 1, job, openHere);
    assert.equal(killed.length, 1, "one worker");
    assert.equal(withoutIdentity(disturbed.text), withoutIdentity(undisturbed.text));
  },
);

describe("a job that is stopped while it trains", options, () => {
  test("by Ctrl-C leaves no output, no temporary file and no process: exit code 130", async () => {
    const { job, temporary, blobUrl } = await startJob(ENDLESS);
    await training(job);
    job.child.kill("SIGINT");
    const { code, stdout, stderr } = await job.ended;
    assert.deepEqual([code, stdout], [130, ""], stderr);
    const problem = jsonLines(stderr).at(-1)!;
    assert.equal(problem.code, "canceled");
    assert.deepEqual([await processesIn(temporary), leftIn(temporary)], [[], []]);
    assert.ok(!existsSync(blobUrl));
  });

  test("by kill -9 of node: its engine ends by itself", async () => {
    const { job, temporary, blobUrl } = await startJob(ENDLESS);
    await training(job);
    job.child.kill("SIGKILL");
    assert.equal((await job.ended).signal, "SIGKILL");
    await until(async () => ((await processesIn(temporary)).length === 0 ? true : undefined));
    assert.ok(!existsSync(blobUrl));
  });
});
