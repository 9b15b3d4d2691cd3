/**
 * What happens to operations when the service ends, by kill -9 or by SIGTERM, on both databases (in `npm test` on SQLite). A storage that
 * holds their blobs stops jobs in the middle, never a clock.
 */
import assert from "node:assert/strict";
import { readdirSync, watch } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { MucastClient } from "../../src/client/index.ts";
import type { OperationView } from "../../src/contract/api/operation-view.ts";
import { claimPort } from "../servers/port.testing.ts";
import { WHOLE_MATRIX } from "../whole-matrix.testing.ts";
import { Api, collect, problemOf } from "./api.testing.ts";
import { hold, release } from "./core.testing.ts";
import { DATABASES, type DatabaseChoice, SQLITE } from "./databases.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { payload, putInputs } from "./inputs.testing.ts";
import {
  endServices,
  type Serving,
  serviceFolder,
  silentEngine,
  startServe,
  untilNoneRuns,
} from "./service.testing.ts";
import { type FakeStorage, startFakeStorage } from "./storage.testing.ts";

type Environment = Readonly<Record<string, string>>;

/** One service after the other, on the same folder, database and port, with jobs that a storage holds in the middle. */
class Restarted {
  readonly storage: FakeStorage;
  readonly #folder: string;
  readonly #port: number;
  readonly #env: Environment;
  #serving: Serving | undefined;

  private constructor(storage: FakeStorage, folder: string, port: number, env: Environment) {
    this.storage = storage;
    this.#folder = folder;
    this.#port = port;
    this.#env = env;
  }

  /** The first service of a database, to which the blobs `small` were uploaded. */
  static async start(
    database: DatabaseChoice,
    env: Environment | "held" = {},
    settings: Environment = {},
  ): Promise<Restarted> {
    await database.begin();
    const storage = await startFakeStorage();
    const folder = await serviceFolder();
    const own = { ...(await database.env()), ...storage.env };
    const restarted = new Restarted(storage, folder, await claimPort(), own);
    await restarted.start(1, env, settings);
    await putInputs(restarted.api, "small");
    return restarted;
  }

  /**
   * The next service, which runs this many jobs in parallel.
   * @param more `held` if every job that it runs waits for its blobs until the service ends.
   */
  async start(jobs: number, more: Environment | "held" = {}, settings: Environment = {}): Promise<void> {
    const env = more === "held" ? await silentEngine(this.#folder) : more;
    const limits = { MUCAST_CORES: String(jobs), MUCAST_CONCURRENT_JOBS: String(jobs) };
    const options = {
      folder: this.#folder,
      port: this.#port,
      env: { ...this.#env, ...limits, ...env, ...settings },
    };
    this.#serving = await startServe(options);
  }

  get serving(): Serving {
    return this.#serving!;
  }

  get api(): Api {
    return new Api(this.serving.url);
  }

  get blobs(): string {
    return join(this.serving.dataDir, "blobs/data");
  }

  /** The payload of a job that does not wait. */
  get small(): string {
    return payload(this.serving.url, "small");
  }

  /** A job that runs and waits for its blobs. @returns its id. */
  async heldRunning(key: string): Promise<string> {
    hold(this.storage, key);
    const { id } = await this.api.submit(payload(this.storage.url, key));
    await this.api.running(id);
    await this.isRead(key, 1);
    assert.ok(this.serving.processes().length > 1, "a job process runs beside the service");
    return id;
  }

  /** Resolves once this many attempts wait for the blobs. */
  async isRead(key: string, times: number): Promise<void> {
    await this.storage.untilRequested(`data_extractor_${key}.json`, times);
  }

  /**
   * Kills the service as the kernel would, and waits until all that it started has ended by itself.
   * @param last while all job processes are stopped, so that no job ends before its service.
   */
  async kill9(last?: () => Promise<void>): Promise<void> {
    const seen = this.serving.processes();
    const jobs = last === undefined ? [] : seen.filter(({ parent }) => parent === this.serving.pid);
    for (const { pid } of jobs) process.kill(pid, "SIGSTOP");
    await last?.();
    await this.serving.kill9();
    for (const { pid } of jobs) process.kill(pid, "SIGCONT");
    await untilNoneRuns(seen);
  }

  filesOf(id: string): string[] {
    return readdirSync(this.blobs).filter((name) => name.includes(id));
  }

  async succeeded(id: string): Promise<OperationView> {
    const ended = await this.api.ended(id);
    assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
    assert.deepEqual(this.filesOf(id), [`ml_engine_${id}.json`]);
    assert.equal((await this.api.ask("GET", ended.result!.output_url)).status, 200);
    return ended;
  }

  async endedWithout(id: string, status: string, code: string): Promise<void> {
    const ended = await this.api.ended(id);
    assert.deepEqual([ended.status, ended.error?.code], [status, code]);
    assert.deepEqual(this.filesOf(id), []);
  }

  async attemptsOf(id: string): Promise<number[]> {
    const events = await collect(await this.api.events(id));
    return events
      .filter(({ type }) => type === "started")
      .map(({ data }) => (data as { data: { attempt: number } }).data.attempt);
  }
}

/** Resolves as soon as a file of that name is in the folder. */
function appears(folder: string, name: string): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(folder, (_, changed) => {
      if (changed !== name) return;
      watcher.close();
      resolve();
    });
  });
}

/** Follows a job by the typed client, from its start to its end. */
function follow(url: string, body: string) {
  const started = Promise.withResolvers<string>();
  const seqs: number[] = [];
  const onEvent = ({ seq, type, operation_id }: { seq: number; type: string; operation_id: string }) => {
    seqs.push(seq);
    if (type === "started") started.resolve(operation_id);
  };
  const ended = new MucastClient({ baseUrl: url }).runAndWait("run_ml_job", body, { onEvent });
  ended.catch(started.reject);
  return { started: started.promise, ended, seqs };
}

const DRAINING = { MUCAST_DRAIN_SECONDS: "600" };

describe("SIGTERM", { timeout: 600_000 }, () => {
  let storage: FakeStorage | undefined;
  after(async () => {
    await endServices();
    await storage?.stop();
  });

  test("lets running jobs end within the time limit, accepts no new ones, and leaves queued ones", async () => {
    const service = await Restarted.start(SQLITE, DRAINING);
    storage = service.storage;
    const { api, serving, small } = service;
    const id = await service.heldRunning("drained");
    const behind = await api.submit(small);
    const seen = serving.processes();
    serving.signal("SIGTERM");
    await eventuallyTrue("it drains", async () => (await api.ask("GET", "/readyz")).status === 503);
    problemOf(await api.post("run_ml_job", small), 503, "unavailable");
    release(storage, "drained");
    assert.deepEqual(await serving.exited, { code: 0, signal: null });
    await untilNoneRuns(seen);
    assert.deepEqual(service.filesOf(id), [`ml_engine_${id}.json`]);
    await service.start(1);
    await service.succeeded(id);
    assert.deepEqual(await service.attemptsOf(id), [1]);
    await service.succeeded(behind.id);
  });
});

for (const database of WHOLE_MATRIX ? DATABASES : [SQLITE]) {
  describe(`kill -9 on ${database.name}`, { timeout: 600_000 }, () => {
    let service: Restarted;
    let [released, canceled, twice, taken, written] = ["", "", "", "", ""];
    let waiting: string[];
    let followed: ReturnType<typeof follow>;
    const keyed = { "idempotency-key": "before" };

    /** By SIGTERM, then twice by kill -9; the tests check what the last service reports. */
    before(async () => {
      service = await Restarted.start(database, "held");
      const { storage, small } = service;
      released = await service.heldRunning("released");
      const seen = service.serving.processes();
      assert.deepEqual(await service.serving.terminate(), { code: 0, signal: null });
      await untilNoneRuns(seen);

      await service.start(4, "held");
      await service.isRead("released", 2);
      hold(storage, "followed");
      followed = follow(service.serving.url, payload(storage.url, "followed"));
      await followed.started;
      await service.isRead("followed", 1);
      canceled = await service.heldRunning("canceled");
      twice = await service.heldRunning("twice");
      waiting = (await Promise.all([1, 2].map(() => service.api.submit(small)))).map(({ id }) => id);
      await service.kill9(async () => {
        await service.api.cancel(canceled);
        taken = (await service.api.submit(small, keyed)).id;
      });
      for (const key of ["released", "followed", "canceled"]) release(storage, key);

      await service.start(2);
      await service.isRead("twice", 2);
      await followed.ended;
      for (const id of [released, taken, ...waiting]) await service.api.ended(id);
      written = await service.heldRunning("written");
      const isWritten = appears(service.blobs, `ml_engine_${written}.json`);
      release(storage, "written");
      await isWritten;
      await service.kill9();
      release(storage, "twice");
      await service.start(1);
    });
    after(async () => {
      await endServices();
      await service?.storage.stop();
      await database.end();
    });

    test("while a job runs and others wait: all end, each with one output", async () => {
      const { id } = await followed.ended;
      for (const one of [...waiting, id]) await service.succeeded(one);
      assert.deepEqual(await service.attemptsOf(id), [1, 2]);
    });

    test("while a client waits: it keeps waiting, and gets each event once", async () => {
      assert.equal((await followed.ended).status, "Succeeded");
      assert.deepEqual(
        followed.seqs,
        followed.seqs.map((_, index) => index + 1),
      );
    });

    test("right after a job was accepted: it runs, and its idempotency key still returns the same operation", async () => {
      await service.succeeded(taken);
      const answer = await service.api.post("run_ml_job", service.small, keyed);
      assert.equal(answer.status, 202, answer.text);
      assert.equal(JSON.parse(answer.text).id, taken);
      const { url } = service.serving;
      assert.equal(answer.headers.get("operation-location"), `${url}/v1/operations/${taken}`);
      const other = await service.api.post("run_ml_job", payload(url, "other"), keyed);
      problemOf(other, 422, "idempotency_conflict");
    });

    test("after a cancellation was requested: it is not forgotten", async () => {
      await service.endedWithout(canceled, "Canceled", "canceled");
    });

    test("the moment the output exists: Succeeded, with that output", async () => {
      const { result } = await service.succeeded(written);
      assert.equal(result!.output_url, `${service.serving.url}/data/ml_engine_${written}.json`);
    });

    test("during two attempts: it runs a third time", async () => {
      await service.succeeded(twice);
      assert.deepEqual(await service.attemptsOf(twice), [1, 2, 3]);
    });

    test("after SIGTERM released a job: that was not a lost attempt, and it runs a third time", async () => {
      await service.succeeded(released);
      assert.equal((await service.attemptsOf(released)).length, 3);
    });
  });
}
