/**
 * What becomes of operations when the service ends under them, by kill -9 or by SIGTERM, on both databases. Jobs are
 * met in the middle by a storage that holds their blobs, never by a clock.
 */
import assert from "node:assert/strict";
import { readdirSync, watch } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { OperationView } from "../../src/contract/api/operation-view.ts";
import { claimPort } from "../servers/port.testing.ts";
import { Api, collect, problemOf } from "./api.testing.ts";
import { hold, release } from "./core.testing.ts";
import { DATABASES } from "./databases.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { payload, putInputs } from "./inputs.testing.ts";
import { endServices, type Serving, serviceFolder, startServe, untilNoneRuns } from "./service.testing.ts";
import { type FakeStorage, startFakeStorage } from "./storage.testing.ts";

/** Of the first service of each database, which the first test ends. */
const DRAINING = { MUCAST_DRAIN_SECONDS: "600" };

/** Resolves the moment a file of that name is in the folder. */
function appears(folder: string, name: string): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(folder, (_, changed) => {
      if (changed !== name) return;
      watcher.close();
      resolve();
    });
  });
}

for (const database of DATABASES) {
  describe(`on ${database.name}`, { timeout: 600_000 }, () => {
    let [storage, folder, port, env]: [FakeStorage?, string?, number?, Record<string, string>?] = [];
    let serving: Serving;
    let api: Api;

    /** The same service again: folder, database, port. */
    async function start(more: Record<string, string> = {}): Promise<void> {
      serving = await startServe({ folder: folder!, port: port!, env: { ...env, ...more } });
      api = new Api(serving.url);
    }

    before(async () => {
      await database.begin();
      storage = await startFakeStorage();
      folder = await serviceFolder();
      port = await claimPort();
      env = { ...(await database.env()), ...storage.env, MUCAST_CORES: "1", MUCAST_CONCURRENT_JOBS: "1" };
      await start(DRAINING);
      await putInputs(api, "small");
    });
    after(async () => {
      await endServices();
      await storage?.stop();
      await database.end();
    });

    /** A job that runs and waits for its blobs. */
    async function heldRunning(key: string): Promise<OperationView> {
      hold(storage!, key);
      const { id } = await api.submit(payload(storage!.url, key));
      const running = await api.running(id);
      await storage!.asked(`data_extractor_${key}.json`);
      assert.ok(serving.processes().length > 1, "a job process runs beside the service");
      return running;
    }

    /** Ends the service as the kernel would, and waits for all that it had started to end by itself. */
    async function kill9(): Promise<void> {
      const seen = serving.processes();
      await serving.kill9();
      await untilNoneRuns(seen);
    }

    function filesOf(id: string): string[] {
      return readdirSync(join(serving.dataDir, "blobs/data")).filter((name) => name.includes(id));
    }

    async function succeeded(id: string): Promise<OperationView> {
      const ended = await api.ended(id);
      assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
      assert.deepEqual(filesOf(id), [`ml_engine_${id}.json`]);
      assert.equal((await api.ask("GET", ended.result!.output_url)).status, 200);
      return ended;
    }

    async function attemptsOf(id: string): Promise<unknown[]> {
      const events = await collect(await api.events(id));
      return events
        .filter(({ type }) => type === "started")
        .map(({ data }) => (data as { data: { attempt: number } }).data.attempt);
    }

    test("SIGTERM lets what runs end within the time for it, takes nothing new, and leaves what waits", async () => {
      const { id } = await heldRunning("drained");
      const behind = await api.submit(payload(serving.url, "small"));
      const seen = serving.processes();
      serving.signal("SIGTERM");
      await eventuallyTrue("it drains", async () => (await api.ask("GET", "/readyz")).status === 503);
      problemOf(await api.post("run_ml_job", payload(serving.url, "small")), 503, "unavailable");
      release(storage!, "drained");
      assert.deepEqual(await serving.exited, { code: 0, signal: null });
      await untilNoneRuns(seen);
      assert.deepEqual(filesOf(id), [`ml_engine_${id}.json`]);
      await start();
      await succeeded(id);
      assert.deepEqual(await attemptsOf(id), [1]);
      await succeeded(behind.id);
    });

    test("kill -9 while a job runs and others wait: all end, each with one output", async () => {
      const { id } = await heldRunning("killed");
      const waiting = await Promise.all([1, 2, 3].map(() => api.submit(payload(serving.url, "small"))));
      await kill9();
      release(storage!, "killed");
      await start();
      for (const operation of [...waiting, { id }]) await succeeded(operation.id);
      assert.deepEqual(await attemptsOf(id), [1, 2]);
    });

    test("a cancellation that was asked for is not forgotten by kill -9", async () => {
      const { id } = await heldRunning("canceled");
      const seen = serving.processes();
      // Stopped, so that the job cannot end before its service is killed.
      const jobs = seen.filter(({ parent }) => parent === serving.pid);
      for (const { pid } of jobs) process.kill(pid, "SIGSTOP");
      await api.cancel(id);
      await serving.kill9();
      for (const { pid } of jobs) process.kill(pid, "SIGCONT");
      await untilNoneRuns(seen);
      release(storage!, "canceled");
      await start();
      const ended = await api.ended(id);
      assert.deepEqual([ended.status, ended.error?.code], ["Canceled", "canceled"]);
      assert.deepEqual(filesOf(id), []);
    });

    test("kill -9 right after a job was taken: it runs after the restart", async () => {
      const { id } = await api.submit(payload(serving.url, "small"), { "idempotency-key": "before" });
      await kill9();
      await start();
      await succeeded(id);
    });

    test("an idempotency key still gives the same operation after restarts", async () => {
      const answer = await api.post("run_ml_job", payload(serving.url, "small"), {
        "idempotency-key": "before",
      });
      assert.equal(answer.status, 202, answer.text);
      const { id } = JSON.parse(answer.text);
      assert.equal(answer.headers.get("operation-location"), `${serving.url}/v1/operations/${id}`);
      await succeeded(id);
      assert.equal(
        problemOf(
          await api.post("run_ml_job", payload(serving.url, "other"), { "idempotency-key": "before" }),
          422,
          "idempotency_conflict",
        ).status,
        422,
      );
    });

    test("kill -9 the moment the output is there: Succeeded, with that output", async () => {
      const { id } = await heldRunning("written");
      const written = appears(join(serving.dataDir, "blobs/data"), `ml_engine_${id}.json`);
      release(storage!, "written");
      await written;
      await kill9();
      await start();
      const { result } = await succeeded(id);
      assert.equal(result!.output_url, `${serving.url}/data/ml_engine_${id}.json`);
    });

    test("kill -9 under both attempts: Failed, execution_lost, no output", async () => {
      const { id } = await heldRunning("lost");
      await kill9();
      await start();
      await api.running(id);
      await storage!.asked("data_extractor_lost.json", 2);
      await kill9();
      await start();
      const ended = await api.ended(id);
      assert.deepEqual([ended.status, ended.error?.code], ["Failed", "execution_lost"]);
      assert.deepEqual(filesOf(id), []);
    });

    test("SIGTERM releases a job that does not end in time, as often as it comes", async () => {
      const { id } = await heldRunning("handed");
      for (let times = 2; times <= 3; times++) {
        const seen = serving.processes();
        assert.deepEqual(await serving.terminate(), { code: 0, signal: null });
        await untilNoneRuns(seen);
        await start();
        await api.running(id);
        await storage!.asked("data_extractor_handed.json", times);
      }
      release(storage!, "handed");
      await succeeded(id);
    });
  });
}
