/**
 * Processes of run_dl_job die while a network trains: what the job writes, and which processes and files remain. The tests
 * wait for a line on stderr or for what processes do, never for a time.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runDlJob } from "../../src/jobs/dl/run-dl-job.ts";
import { openEngine } from "../../src/jobs/shared/job.ts";
import {
  type Ended,
  inputArguments,
  jsonLines,
  processesIn,
  type Running,
  startMucast,
  until,
} from "./command.ts";
import {
  type BlobPair,
  type JobRun,
  newFolder,
  removeFolders,
  runJob,
  withoutIdentity,
  writeMarket,
} from "./job-runs.ts";
import { networkConfig } from "./network-jobs.ts";
import { smallMarket, without } from "./network-market.ts";

const options = {
  concurrency: 2,
  timeout: 600_000,
  skip: process.platform !== "linux" && "looks into /proc",
};

/** Training that lasts long enough to be met while it runs. */
const LONG = { epochs: 60, patience: 60, learning_rate: 1e-4 };
const LSTM = networkConfig("lstm", { training: LONG, intervals: {} });
/** More epochs than anybody waits for. */
const ENDLESS = networkConfig("lstm", { training: { epochs: 10_000, patience: 10_000 } });

let pair: BlobPair;
/** What the job leaves when nothing happens to it. */
let undisturbed: JobRun;
before(async () => {
  pair = await writeMarket(without(smallMarket(), "JPM", "KO"));
  if (!options.skip) undisturbed = await runJob(pair, LSTM, 1, runDlJob, openEngine);
});
after(removeFolders);

async function startJob(config: string): Promise<{ job: Running; temporary: string; blobUrl: string }> {
  const [temporary, blobUrl] = [await newFolder(), join(await newFolder(), "blobs")];
  const more = ["--workers", "1", "--log", "json", "--blob-url", blobUrl];
  const job = await startMucast(["run_dl_job", ...inputArguments(pair, config), ...more], { temporary });
  return { job, temporary, blobUrl };
}

/** Resolves in the middle of training: the third epoch is done. */
const training = (job: Running) => job.told(({ stage, epoch }) => stage === "fit" && Number(epoch) >= 3);

/** Of a job's engine the processes that another one of it started: its workers. */
async function workersIn(temporary: string): Promise<number[]> {
  const pids = await processesIn(temporary);
  return pids.filter((pid) => {
    try {
      // The fields of stat after the name in brackets: state, then the parent.
      const [, parent] = readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      return pids.includes(Number(parent));
    } catch {
      return false;
    }
  });
}

function leftIn(temporary: string): string[] {
  return readdirSync(temporary).flatMap((base) => readdirSync(join(temporary, base)));
}

function outputOf({ code, stdout, stderr }: Ended): string {
  assert.equal(code, 0, stderr);
  return readFileSync(fileURLToPath(JSON.parse(stdout).output_url), "utf8");
}

test(
  "kill -9 of a worker while it trains costs one attempt: the job succeeds with the same bytes",
  options,
  async () => {
    const { job, temporary } = await startJob(LSTM);
    await training(job);
    const workers = await workersIn(temporary);
    assert.equal(workers.length, 1, "one worker");
    process.kill(workers[0]!, "SIGKILL");
    const text = outputOf(await job.ended);
    assert.equal(withoutIdentity(text), withoutIdentity(undisturbed.text));
    assert.deepEqual([leftIn(temporary), await processesIn(temporary)], [[], []]);
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
