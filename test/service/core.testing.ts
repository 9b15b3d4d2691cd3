/** What the core tests share: one service on one database, a fake storage that holds jobs, and a caller. */
import type { OperationView } from "../../src/contract/api/operation-view.ts";
import { Api } from "./api.testing.ts";
import type { DatabaseChoice } from "./databases.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { FEATURES, PRICES, payload, putInputs, RIDGE } from "./inputs.testing.ts";
import { type Serving, startServe } from "./service.testing.ts";
import { type FakeStorage, startFakeStorage } from "./storage.testing.ts";

/** Limits that a test reaches in a moment, and that leave room for all other tests. */
const LIMITED = {
  MUCAST_QUEUED_PER_CALLER: "12",
  MUCAST_BLOB_TICKERS: "50",
};

/** Few descriptors: 700 connections would use them all. */
const NARROW = ["sh", "-c", 'ulimit -n 512; exec "$@"', "sh"];

export class Core {
  readonly serving: Serving;
  readonly storage: FakeStorage;
  readonly api: Api;
  #count = 0;

  constructor(serving: Serving, storage: FakeStorage) {
    this.serving = serving;
    this.storage = storage;
    this.api = new Api(serving.url);
  }

  /** A payload whose blobs, `small`, are in the service's own folder. */
  own(config = RIDGE): string {
    return payload(this.serving.url, "small", config);
  }

  /** A job that waits in the middle of its reading until it is released. @returns the accepted operation, and its key. */
  async heldJob(config = RIDGE): Promise<{ operation: OperationView; release: () => void; key: string }> {
    const key = `held-${++this.#count}`;
    const { storage } = this;
    hold(storage, key);
    const operation = await this.api.submit(payload(storage.url, key, config));
    return { operation, key, release: () => release(storage, key) };
  }

  /** The same, once it runs and waits. */
  async heldRunning(config = RIDGE): Promise<{ operation: OperationView; release: () => void }> {
    const held = await this.heldJob(config);
    await this.api.running(held.operation.id);
    await this.storage.untilRequested(`data_extractor_${held.key}.json`);
    // The service stores the event once the job process has the order, which may already be reading.
    for await (const { type } of (await this.api.events(held.operation.id)).events) {
      if (type === "started") break;
    }
    return held;
  }
}

/** Both blobs of a job; whichever is read first makes it wait. */
export function hold(storage: FakeStorage, key: string): void {
  storage.put(`data_extractor_${key}.json`, PRICES, { kind: "hold" });
  storage.put(`feature_engine_${key}.json`, FEATURES, { kind: "hold" });
}

export function release(storage: FakeStorage, key: string): void {
  for (const kind of ["data_extractor", "feature_engine"]) storage.release(`${kind}_${key}.json`);
}

interface CoreOptions {
  /** The number of parallel jobs; 2 by default. */
  readonly jobs?: number;
  /** With LIMITED, and few descriptors. */
  readonly limited?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** A service to which the blobs `small` were uploaded. */
export async function startCore(
  database: DatabaseChoice,
  { jobs = 2, limited = false, env = {} }: CoreOptions = {},
): Promise<Core> {
  const storage = await startFakeStorage();
  const serving = await startServe({
    env: {
      ...(await database.env()),
      ...storage.env,
      MUCAST_CORES: String(jobs),
      MUCAST_CONCURRENT_JOBS: String(jobs),
      ...(limited ? LIMITED : {}),
      ...env,
    },
    through: limited ? NARROW : [],
  });
  const core = new Core(serving, storage);
  await eventuallyTrue(
    "the service is ready",
    async () => (await core.api.ask("GET", "/readyz")).status === 200,
  );
  await putInputs(core.api, "small");
  return core;
}
