/**
 * What remains when a command's job is stopped by a signal, or its node process is killed. The tests wait for a line on stderr or for
 * processes and files, never for a time. For deaths of the engine's processes, see src/engine/pool/pool-ends.slow.test.ts.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Behaviour, type FakeStorage, startFakeStorage } from "../../service/storage.testing.ts";
import {
  jobArguments,
  jsonLines,
  mucast,
  processesIn,
  type Running,
  startMucast,
  until,
} from "../commands/command.ts";
import { type BlobPair, newFolder, removeFolders, writeMarket } from "../jobs/job-runs.ts";
import { cleanMarket } from "../markets/market.ts";

/** Fits of two tickers that last long enough to be caught while they run. */
const SLOW = `{"ML params": {"model": "catboost", "n_splits": 1, "intervals": {},
  "model_params": {"iterations": 400, "depth": 6}}}`;

const options = {
  concurrency: 2,
  timeout: 600_000,
  skip: process.platform !== "linux" && "looks into /proc",
};

let pair: BlobPair;
let storage: FakeStorage;
before(async () => {
  storage = await startFakeStorage();
  const market = cleanMarket("2021-10-29");
  const features = new Map([...market.features].slice(0, 2));
  pair = await writeMarket({ ...market, features });
});
after(async () => {
  await storage.stop();
  await removeFolders();
});

/** The prices in a storage that fails, and the settings to read them from there. */
async function hangingPrices(behaviour: Behaviour) {
  const name = `data_extractor_${behaviour.kind}.json`;
  storage.put(name, await readFile(pair.prices, "utf8"), behaviour);
  return { prices: `${storage.url}/data/${name}`, env: storage.env };
}

/** A job with one worker and its own folder for temporary files. */
async function startJob(): Promise<{ job: Running; temporary: string; blobUrl: string }> {
  const [temporary, blobUrl] = [await newFolder(), join(await newFolder(), "blobs")];
  const args = jobArguments(pair, SLOW, "--workers", "1", "--log", "json", "--blob-url", blobUrl);
  return { job: await startMucast(args, { temporary }), temporary, blobUrl };
}

/** Workers that have the matrix of ticker number `index` mapped, which means they are fitting it. */
async function fitting(temporary: string, index: number): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await processesIn(temporary)) {
    const maps = await readFile(`/proc/${pid}/maps`, "utf8").catch(() => "");
    if (maps.includes(`/x${index}.npy`)) found.push(pid);
  }
  return found;
}

const some = (pids: number[]) => (pids.length > 0 ? pids : undefined);
const none = (pids: number[]) => (pids.length === 0 ? true : undefined);

/** Everything below the folder for temporary files. */
function leftIn(temporary: string): string[] {
  return readdirSync(temporary);
}

/** Asserts that nothing of the job is left. */
async function assertCanceled(
  { ended }: Running,
  signal: NodeJS.Signals,
  temporary: string,
  blobUrl: string,
): Promise<void> {
  const { code, stdout, stderr } = await ended;
  assert.deepEqual([code, stdout], [128 + constants.signals[signal], ""], stderr);
  const problem = jsonLines(stderr).at(-1)!;
  assert.equal(problem.code, "canceled");
  assert.match(String(problem.detail), new RegExp(signal));
  assert.deepEqual(await processesIn(temporary), []);
  assert.deepEqual(leftIn(temporary), []);
  assert.ok(!existsSync(blobUrl));
}

describe("a stopped job leaves no output, no temporary file and no process", options, () => {
  test("SIGINT while fitting: exit code 130", async () => {
    const { job, temporary, blobUrl } = await startJob();
    await job.told(({ stage }) => stage === "fit");
    await until(async () => some(await fitting(temporary, 0)));
    job.child.kill("SIGINT");
    await assertCanceled(job, "SIGINT", temporary, blobUrl);
  });

  for (const [signal, behaviour, when] of [
    ["SIGINT", { kind: "hold" }, "does not answer"],
    ["SIGTERM", { kind: "stall", after: 1_000 }, "stops in the middle of its answer"],
  ] as const) {
    test(`${signal} while its engine imports and it reads from a storage that ${when}: it ends`, async () => {
      const [temporary, blobUrl] = [await newFolder(), join(await newFolder(), "blobs")];
      const { prices, env } = await hangingPrices(behaviour);
      const args = jobArguments({ ...pair, prices }, SLOW, "--log", "json", "--blob-url", blobUrl);
      const job = await startMucast(args, { temporary, env });
      await until(async () => some(await processesIn(temporary)));
      job.child.kill(signal);
      await assertCanceled(job, signal, temporary, blobUrl);
    });
  }

  test("a storage that does not answer does not delay a fault of the parameters: exit code 2", async () => {
    const temporary = await newFolder();
    const { prices, env } = await hangingPrices({ kind: "hold" });
    const refused = '{"ML params": {"model": "catboost", "model_params": {"depth": 99}}}';
    const args = jobArguments({ ...pair, prices }, refused, "--log", "json");
    const { code, stdout, stderr } = await mucast(args, { temporary, env });
    assert.deepEqual([code, stdout], [2, ""], stderr);
    assert.equal(jsonLines(stderr).at(-1)?.code, "invalid_model_params");
    assert.deepEqual(leftIn(temporary), []);
  });

  test("a job over its memory limit, including the node process: exit code 4", async () => {
    const [temporary, blobUrl] = [await newFolder(), join(await newFolder(), "blobs")];
    const args = jobArguments(pair, SLOW, "--workers", "1", "--log", "json", "--blob-url", blobUrl);
    const env = { MUCAST_MEMORY_BYTES: String(32 * 2 ** 20) };
    const { code, stdout, stderr } = await mucast(args, { temporary, env });
    assert.deepEqual([code, stdout], [4, ""], stderr);
    const problem = jsonLines(stderr).at(-1)!;
    assert.deepEqual([problem.code, problem.limit_bytes], ["out_of_memory", 32 * 2 ** 20]);
    assert.deepEqual(leftIn(temporary), []);
    assert.ok(!existsSync(blobUrl));
  });

  test("kill -9 of node: its engine ends by itself, and the next job removes the work folder", async () => {
    const { job, temporary, blobUrl } = await startJob();
    await until(async () => some(await fitting(temporary, 0)));
    const engine = await processesIn(temporary);
    assert.equal(engine.length, 2, "a host and a worker");
    job.child.kill("SIGKILL");
    assert.equal((await job.ended).signal, "SIGKILL");
    await until(async () => none(await processesIn(temporary)));
    assert.ok(!existsSync(blobUrl));
    assert.equal(leftIn(temporary).length, 1, "no process was there to remove the work folder");
    const args = ["validate", ...jobArguments(pair, SLOW).slice(1)];
    assert.equal((await mucast(args, { temporary })).code, 0);
    assert.deepEqual(leftIn(temporary), []);
  });
});
