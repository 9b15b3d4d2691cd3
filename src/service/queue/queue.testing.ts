import { createHash, randomUUID } from "node:crypto";
import type { BlobStore } from "../../blob/store.ts";
import { isEnded, type OperationView } from "../../contract/api/operation-view.ts";
import type { Snapshot, StoredEvent } from "../../contract/api/stored-event.ts";
import { parsePayload } from "../../contract/config/payload.ts";
import type { StatusBlob } from "../../contract/output/job-events.ts";
import type { Caller } from "../auth/caller.ts";
import type { Blobs } from "../blobs/blobs.ts";
import type { Database } from "../database/database.ts";
import type { TestDatabase } from "../database/databases.testing.ts";
import { Forecasts } from "../forecast/forecasts.ts";
import { StoredOperations } from "../operations/stored-operations.ts";
import { webhookTypes } from "../store/events.ts";
import { noLog, noTelemetry } from "../telemetry/no-telemetry.testing.ts";
import { Dispatcher } from "./dispatcher.ts";
import { FakeExecutor } from "./fake-executor.testing.ts";
import { Leases } from "./leases.ts";
import { OperationNotifications } from "./notifications.ts";
import type { QueueParts } from "./queue-parts.ts";

export const PAYLOAD = JSON.stringify({
  feature_url: "https://acct.example/models/data/feature_engine_1.json?sig=SECRET",
  data_extractor_url: "https://acct.example/models/data/data_extractor_1.json",
  config: { "ML params": { model: "ridge" } },
});

/** The text of its config. */
export const CONFIG = JSON.stringify(JSON.parse(PAYLOAD).config);

export const LOST = { kind: "lost", reason: "killed" } as const;

export function failedWith(code: "fit_failed" | "output_failed") {
  const problem = { type: "", title: "", status: 422, code, detail: "", advice: "" } as const;
  return { kind: "failed", problem } as const;
}

const NO_BLOBS = { find: () => Promise.reject(new Error("no test here reads an output")) };

/** Everything between HTTP and the executor, on a real database. The executor and the storage are fakes. */
export class TestedQueue {
  readonly executor: FakeExecutor;
  readonly store = new FakeStore();
  readonly statuses = new Map<string, StatusBlob>();
  /** Message and fields of each line that the log has for information. */
  readonly logged: { message: string; [field: string]: unknown }[] = [];
  readonly parts: QueueParts;
  readonly dispatcher: Dispatcher;
  operations!: StoredOperations;
  notifications!: OperationNotifications;
  #closing: Promise<void> | undefined;

  /** Not started yet. */
  constructor(
    database: Database,
    settings: Partial<QueueParts["settings"]> = {},
    executor = new FakeExecutor(),
  ) {
    this.executor = executor;
    this.parts = {
      database,
      leases: new Leases({ database, log: noLog }),
      executor,
      store: this.store,
      readStatus: async (_store, id, attempt) => this.statuses.get(`${id}.${attempt}`),
      settings: {
        events_kept: 1_000,
        job_seconds: 3_600,
        concurrent_jobs: 2,
        cores: 2,
        ...settings,
      },
      urlOf: (stored) => stored,
      webhooks: webhookTypes([]),
      telemetry: noTelemetry,
      log: { ...noLog, info: (fields, message) => void this.logged.push({ message, ...fields }) },
    };
    this.dispatcher = new Dispatcher(this.parts);
  }

  /** @param blobs where outputs are read. @param dispatch false: nothing claims the operations, so they wait. */
  async start({
    dispatch = true,
    queuedMost = 1_000,
    blobs = NO_BLOBS as Pick<Blobs, "find">,
    requireStorage = (): void => undefined,
  } = {}): Promise<this> {
    const { database, webhooks, settings } = this.parts;
    this.notifications = await OperationNotifications.start(database);
    this.operations = new StoredOperations({
      database,
      notifications: this.notifications,
      webhooks,
      settings: { ...settings, queued_per_caller: queuedMost },
      quota: { bytes: 2 ** 30, blobs: 10_000 },
      requireStorage,
      read: async (_caller, { operation, payload }) => {
        const parsed = parsePayload(operation, payload);
        return { ...parsed, inputs: async () => ({ ...parsed, blobs: [] }) };
      },
      blobs,
      forecasts: new Forecasts(blobs),
      onQueued: () => undefined,
      onCanceled: () => undefined,
    });
    if (dispatch) this.dispatcher.start(this.notifications);
    if (dispatch) await this.parts.leases.look();
    return this;
  }

  async submit(caller: Caller, idempotencyKey?: string): Promise<OperationView> {
    const { operation } = await this.operations.submit(caller, {
      operation: "run_ml_job",
      payload: PAYLOAD,
      idempotencyKey,
    });
    return operation;
  }

  /** The operation once it has ended. */
  async ended(caller: Caller, id: string): Promise<OperationView> {
    for (;;) {
      const view = await this.operations.wait(caller, id, 60);
      if (isEnded(view.status)) return view;
    }
  }

  /** Waits until an event of that type is stored. */
  async stored(caller: Caller, id: string, type: StoredEvent["type"]): Promise<void> {
    const { signal } = new AbortController();
    for await (const event of this.operations.follow(caller, id, 0, signal)) if (event.type === type) return;
  }

  async events(caller: Caller, id: string, after = 0): Promise<(StoredEvent | Snapshot)[]> {
    const events: (StoredEvent | Snapshot)[] = [];
    const { signal } = new AbortController();
    for await (const event of this.operations.follow(caller, id, after, signal)) events.push(event);
    return events;
  }

  /** Like a kill: stores nothing, and lets other services see that this one is gone. */
  async die(): Promise<void> {
    await this.dispatcher.stopClaiming();
    await this.parts.leases.release("operations");
  }

  /** Closes once; later calls wait for the first. */
  close(): Promise<void> {
    this.#closing ??= this.dispatcher.drain(0).then(() => this.notifications.close());
    return this.#closing;
  }
}

/** A queue on the database of a test; the test closes it at its end. */
export async function startQueue(
  tested: TestDatabase,
  t: { after: (end: () => Promise<void>) => void },
  settings: Partial<QueueParts["settings"]> = {},
  executor = new FakeExecutor(),
): Promise<TestedQueue> {
  const started = await new TestedQueue(tested.database(), settings, executor).start();
  t.after(() => started.close());
  return started;
}

/** A separate caller for each test, as they share a database. */
export function newCaller(): Caller {
  return { subject: `key:${randomUUID()}`, scopes: new Set(["read", "write"]) };
}

export function recordOf(id: string) {
  return {
    status: "Succeeded",
    output_url: `memory:/data/ml_engine_${id}.json`,
    output_name: `ml_engine_${id}.json`,
    execution_name: "ml-worker-job-1",
  } as const;
}

/** A fake: blobs in memory. */
export class FakeStore implements BlobStore {
  readonly url = "memory:";
  readonly blobs = new Map<string, string>();

  /** One store for all spaces: the ids of operations keep their blobs apart. */
  within(): this {
    return this;
  }

  /** Writes an output as the operation's job would have done. */
  leaveOutput(id: string, config: string): void {
    const config_sha256 = createHash("sha256").update(config).digest("hex");
    this.blobs.set(`data/ml_engine_${id}.json`, JSON.stringify({ id, provenance: { config_sha256 } }));
  }

  async stat(key: string) {
    const blob = this.blobs.get(key);
    return blob === undefined ? undefined : { size: blob.length, etag: '"1"' };
  }

  async *read(key: string, { start = 0, end }: { start?: number; end?: number } = {}) {
    yield Buffer.from(this.blobs.get(key) ?? "").subarray(start, end);
  }

  put(): never {
    throw new Error("not for this fake");
  }

  create(): never {
    throw new Error("not for this fake");
  }

  async remove(key: string): Promise<void> {
    this.blobs.delete(key);
  }

  async close(): Promise<void> {
    this.blobs.clear();
  }
}
