/**
 * What is left when a service, a job process or a worker is killed, and when a job is stopped. Everything waits for
 * what is told or seen of processes and files, never for a time.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync, readdirSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  type BlobPair,
  newFolder,
  removeFolders,
  runJob,
  withoutIdentity,
  writeMarket,
} from "../../../test/end-to-end/job-runs.ts";
import { cleanMarket } from "../../../test/end-to-end/market.ts";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import type { JobOrder } from "../executor.ts";
import { readStatus } from "../status-reader.ts";
import {
  ENDLESS,
  executorAt,
  fittingIn,
  Hearing,
  newPlace,
  orderOf,
  type Place,
  pidOf,
  processesOf,
  RIDGE,
  until,
  untilGone,
} from "./jobs.testing.ts";

const options = {
  concurrency: 2,
  timeout: 300_000,
  skip: process.platform !== "linux" && "looks into /proc",
};

let market: BlobPair;
before(async () => {
  market = await writeMarket(cleanMarket("2021-10-29"));
});
after(removeFolders);

const dataOf = ({ blobUrl }: Place) => readdirSync(join(blobUrl, "data"));
const statusOf = ({ blobUrl }: Place, { id }: JobOrder) =>
  readStatus(new FolderStore(blobUrl, "file:"), id, 1);
const leftIn = ({ temporary }: Place) =>
  readdirSync(temporary).flatMap((base) => readdirSync(join(temporary, base)));

/** A job that fits until it is stopped, and is fitting. */
async function startFitting(config = ENDLESS) {
  const place = await newPlace();
  const executor = executorAt(place);
  const order = orderOf(market, config);
  const hearing = new Hearing();
  const execution = await executor.start(order, hearing);
  const [worker] = await until(() => {
    const found = fittingIn(place);
    return found.length > 0 ? found : undefined;
  });
  return { place, executor, order, execution, worker: worker!, hearing };
}

describe("a job that is stopped amid its fits is gone when it has ended, without output", options, () => {
  for (const reason of ["canceled", "timed_out"] as const) {
    test(`for ${reason}: failed with that code, also in its status`, async () => {
      const { place, execution, order } = await startFitting();
      execution.stop(reason);
      execution.stop("draining");
      const end = await execution.ended;
      assert.deepEqual(processesOf(place), []);
      assert.ok(end.kind === "failed", JSON.stringify(end));
      assert.equal(end.problem.code, reason);
      assert.deepEqual((await statusOf(place, order))?.end, { problem: end.problem });
      assert.deepEqual([dataOf(place), leftIn(place)], [[], []]);
      execution.stop(reason);
    });
  }

  test("for a service that drains: lost, and its status has no end", async () => {
    const { place, executor, execution, order } = await startFitting();
    await executor.close();
    assert.equal((await execution.ended).kind, "lost");
    assert.deepEqual(processesOf(place), []);
    assert.equal((await statusOf(place, order))?.end ?? null, null);
    assert.deepEqual([dataOf(place), leftIn(place)], [[], []]);
    await assert.rejects(executor.start(order, new Hearing()), /service is closing/);
  });

  test("although it does not answer: it is killed", async () => {
    const { place, execution } = await startFitting();
    process.kill(pidOf(execution), "SIGSTOP");
    execution.stop("canceled");
    const end = await execution.ended;
    assert.deepEqual(processesOf(place), []);
    assert.ok(end.kind === "failed");
    assert.equal(end.problem.code, "canceled");
    assert.deepEqual(dataOf(place), []);
  });
});

describe("a process of a job that is killed", options, () => {
  test("itself: the attempt is lost, and its engine is gone", async () => {
    const { place, execution } = await startFitting();
    process.kill(pidOf(execution), "SIGKILL");
    const end = await execution.ended;
    assert.deepEqual(end, { kind: "lost", reason: "the job's process is gone: it was ended by SIGKILL" });
    assert.deepEqual(processesOf(place), []);
    assert.deepEqual(dataOf(place), []);
  });

  test("a worker: its task is made again, and the bytes are the same", async () => {
    const slow = `{"ML params": {"model": "catboost", "n_splits": 1, "model_params": {"iterations": 400}}}`;
    const { place, execution, order, worker } = await startFitting(slow);
    process.kill(worker, "SIGKILL");
    const end = await execution.ended;
    assert.equal(end.kind, "succeeded", JSON.stringify(end));
    const text = readFileSync(join(place.blobUrl, "data", `ml_engine_${order.id}.json`), "utf8");
    const undisturbed = await runJob(market, slow, 2);
    assert.equal(withoutIdentity(text), withoutIdentity(undisturbed.text));
  });

  test("by signals to its whole group, as an init system sends them to all: the job goes on", async () => {
    const slow = `{"ML params": {"model": "catboost", "n_splits": 1, "model_params": {"iterations": 400}}}`;
    const { execution } = await startFitting(slow);
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.kill(-pidOf(execution), signal);
    assert.equal((await execution.ended).kind, "succeeded");
  });
});

/** A service of its own with one job, to be killed. */
function startService(place: Place, order: JobOrder | undefined, warm = false): ChildProcess {
  const program = fileURLToPath(new URL("./service.testing.ts", import.meta.url));
  return spawn(process.execPath, [program, JSON.stringify({ place, order, warm })], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Waits for a line of the service. */
async function said(service: ChildProcess, line: string): Promise<void> {
  let text = "";
  for await (const chunk of service.stdout!.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.split("\n").includes(line)) return;
  }
  assert.fail(`the service ended before it said ${line}: ${text}`);
}

describe("a service that is killed leaves no process and no half output", options, () => {
  test("while its job reads", async () => {
    const place = await newPlace();
    const pipe = join(await newFolder(), "feature_engine_1.json");
    assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
    const order = orderOf({ ...market, features: pipe }, RIDGE);
    const service = startService(place, order);
    const features = createWriteStream(pipe);
    features.on("error", () => undefined); // Its reader is killed.
    features.write(readFileSync(market.features).subarray(0, 1_000));
    await said(service, "read");
    service.kill("SIGKILL");
    await untilGone(place);
    assert.deepEqual(dataOf(place), []);
    assert.equal(await statusOf(place, order), undefined);
    features.destroy();
  });

  test("while its job fits", async () => {
    const place = await newPlace();
    const order = orderOf(market, ENDLESS);
    const service = startService(place, order, true);
    await until(() => fittingIn(place)[0]);
    service.kill("SIGKILL");
    await untilGone(place);
    assert.deepEqual(dataOf(place), []);
    assert.equal((await statusOf(place, order))?.end ?? null, null);
  });

  test("while its job writes: the output is whole or not there", async () => {
    const place = await newPlace();
    const order = orderOf(market, RIDGE);
    const watcher = watch(join(place.blobUrl, "data"));
    const service = startService(place, order);
    await once(watcher, "change");
    service.kill("SIGKILL");
    watcher.close();
    await untilGone(place);
    const output = join(place.blobUrl, "data", `ml_engine_${order.id}.json`);
    if (existsSync(output)) JSON.parse(readFileSync(output, "utf8"));
  });

  test("while a job process waits", async () => {
    const place = await newPlace();
    const service = startService(place, undefined, true);
    await said(service, "ready");
    assert.equal(processesOf(place).length, 2);
    service.kill("SIGKILL");
    await untilGone(place);
  });

  test("while the main thread of a job process is blocked", async () => {
    const program = fileURLToPath(new URL("./blocked.testing.ts", import.meta.url));
    const child = spawn(process.execPath, [program], { detached: true, stdio: ["pipe", "pipe", "inherit"] });
    child.stdin!.write("{}\n");
    await said(child, "blocked");
    child.stdin!.end();
    const [, signal] = await once(child, "exit");
    assert.equal(signal, "SIGKILL");
  });
});

test("nothing runs of a job that an earlier service has started when it is given up", options, async () => {
  const place = await newPlace();
  const executor = executorAt(place);
  const order = orderOf(market, ENDLESS);
  const execution = await executor.start(order, new Hearing());
  const later = executorAt(place);
  const adopted = later.adopt(order, execution.handle);
  process.kill(pidOf(execution), "SIGKILL");
  assert.equal(await adopted, undefined);
  await execution.ended;
  await Promise.all([executor.close(), later.close()]);
});
