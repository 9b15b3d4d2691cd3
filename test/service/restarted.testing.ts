/** One service after the other, on the same folder, database and port, with jobs that a storage holds in the middle. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { OperationView } from "../../src/contract/api/operation-view.ts";
import { claimPort } from "../servers/port.testing.ts";
import { Api, collect } from "./api.testing.ts";
import { hold } from "./core.testing.ts";
import type { DatabaseChoice } from "./databases.testing.ts";
import { payload, putInputs } from "./inputs.testing.ts";
import { type Serving, serviceFolder, silentEngine, startServe, untilNoneRuns } from "./service.testing.ts";
import { type FakeStorage, startFakeStorage } from "./storage.testing.ts";

type Environment = Readonly<Record<string, string>>;

export class Restarted {
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
