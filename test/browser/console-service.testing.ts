/** A service for the console: real except for its jobs, which a fake executor leaves to the test. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SubmittedOperation } from "../../src/contract/config/job-operations.ts";
import { type Settings, settingsSchema } from "../../src/contract/settings.ts";
import { page } from "../../src/report/page.ts";
import { reported } from "../../src/report/reported.testing.ts";
import { buildAuthenticate } from "../../src/service/auth/authenticate.ts";
import type { Caller, Scope } from "../../src/service/auth/caller.ts";
import { KeyStore } from "../../src/service/auth/key-store.ts";
import { StoredBlobs } from "../../src/service/blobs/blobs.ts";
import { type Database, openDatabase } from "../../src/service/database/database.ts";
import { buildHttp } from "../../src/service/http/build-http.ts";
import type { HttpApp } from "../../src/service/http/http-app.ts";
import { type FakeExecution, recordOf, TestedQueue } from "../../src/service/queue/queue.testing.ts";
import { ReportLinks, Reports } from "../../src/service/report/reports.ts";
import { noLog, noTelemetry } from "../../src/service/telemetry/no-telemetry.testing.ts";

const URLS = {
  feature_url: "https://blobs.example/feature_engine_1.json",
  data_extractor_url: "https://blobs.example/data_extractor_1.json",
};
const ML = { "ML params": { model: "ridge" } };
const CONFIGS: Readonly<Record<Exclude<SubmittedOperation, "replay">, object>> = {
  run_ml_job: ML,
  run_dl_job: { "NN params": { "Dot prediction": { "current option": "lstm" } } },
  audit: ML,
};

/** A running job, as its test sees it. */
export interface StartedJob {
  readonly id: string;
  readonly execution: FakeExecution;
}

/** The caller's own key. */
export interface SignedIn {
  readonly token: string;
  readonly keyId: string;
  readonly caller: Caller;
}

export class ConsoleService {
  readonly queue: TestedQueue;
  readonly keys: KeyStore;
  readonly database: Database;
  readonly #blobs: StoredBlobs;
  readonly #folder: string;
  readonly #settings: Settings;
  #app: HttpApp | undefined;
  #port = 0;

  private constructor(folder: string, database: Database, settings: Settings) {
    this.#folder = folder;
    this.database = database;
    this.#settings = settings;
    this.queue = new TestedQueue(database);
    this.keys = new KeyStore(database);
    const quota = { bytes: settings.stored_bytes_per_caller, blobs: settings.stored_blobs_per_caller };
    this.#blobs = new StoredBlobs({ database, store: this.queue.store, settings, quota });
  }

  static async start(given: Partial<Settings> = { auth: "keys" }): Promise<ConsoleService> {
    const folder = mkdtempSync(join(tmpdir(), "mucast-console-"));
    const database = await openDatabase({ data_dir: folder });
    const service = new ConsoleService(folder, database, {
      ...settingsSchema.parse({}),
      ...given,
    });
    await service.queue.start({ blobs: service.#blobs });
    await service.listen();
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  /** Answers again at the same address after a break. */
  async listen(): Promise<void> {
    const settings = this.#settings;
    this.#app = buildHttp({
      settings,
      operations: this.queue.operations,
      keys: this.keys,
      blobs: this.#blobs,
      reports: new Reports({
        blobs: this.#blobs,
        draw: async (outputs) => {
          const texts = outputs.map(({ space, name }) =>
            readFileSync(join(this.queue.folder, space, "data", name), "utf8"),
          );
          return Buffer.from(page(reported(...texts)));
        },
        cacheBytes: settings.report_cache_bytes,
      }),
      reportLinks: new ReportLinks(this.database, this.keys),
      preparations: { prepare: () => Promise.reject(new Error("no test here prepares blobs")) },
      log: noLog,
      authenticate: await buildAuthenticate(settings, {
        database: this.database,
        keys: this.keys,
        log: noLog,
        localToken: "a token that no test sends",
      }),
      telemetry: noTelemetry,
      occupancy: () => this.queue.dispatcher.occupancy,
      ready: async () => [],
      beatMilliseconds: 100,
    });
    await this.#app.listen({ host: "127.0.0.1", port: this.#port });
    this.#port = (this.#app.server.address() as AddressInfo).port;
  }

  /** Simulates an outage: ends its streams and stops answering, while its jobs continue. */
  async leave(): Promise<void> {
    await this.#app?.close();
  }

  async signedWith(...scopes: Scope[]): Promise<SignedIn> {
    const { key, token } = await this.keys.create("a test", scopes);
    return { token, keyId: key.id, caller: { subject: key.subject, scopes: new Set(scopes) } };
  }

  /** A job of a caller, controlled by its test instead of an executor. */
  async begin(
    caller: Caller,
    operation: SubmittedOperation = "run_ml_job",
    tags: readonly string[] = [],
  ): Promise<StartedJob> {
    const payload = JSON.stringify(
      operation === "replay"
        ? { output_url: "https://blobs.example/data/ml_engine_1.json" }
        : { ...URLS, config: CONFIGS[operation], tags },
    );
    const { id } = (await this.queue.operations.submit(caller, { operation, payload })).operation;
    return { id, execution: await this.queue.executor.next() };
  }

  /** Ends a job with this text as its output, possibly under another name. */
  succeed({ id, execution }: StartedJob, text: string, output_name: string = recordOf(id).output_name): void {
    const folder = join(this.queue.folder, execution.order.space!, "data");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, output_name), text);
    execution.end({ kind: "succeeded", record: { ...recordOf(id), output_name } });
  }

  async close(): Promise<void> {
    await this.leave();
    await this.queue.close();
    await this.database.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
