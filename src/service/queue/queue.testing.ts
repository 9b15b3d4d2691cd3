import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import { isEnded, type OperationView } from "../../contract/api/operation-view.ts";
import type { Snapshot, StoredEvent } from "../../contract/api/stored-event.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import type {
  Execution,
  ExecutionEnd,
  ExecutionListener,
  Executor,
  JobOrder,
  StopReason,
} from "../../executors/executor.ts";
import type { Caller } from "../auth/caller.ts";
import { spaceOf } from "../blobs/storage.ts";
import type { Database } from "../database/database.ts";
import type { TestDatabase } from "../database/databases.testing.ts";
import { operationsOn } from "../operations/operations.testing.ts";
import { Operations } from "../operations/operations.ts";
import type { OperationNotifications } from "../store/follow-events.ts";
import { noLog, noTelemetry } from "../telemetry/no-telemetry.testing.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { QueueParts } from "./finish-attempt.ts";
import { Leases } from "./leases.ts";

export { recordOf } from "../operations/operations.testing.ts";

export const PAYLOAD = JSON.stringify({
  feature_url: "https://acct.example/models/data/feature_engine_1.json?sig=SECRET",
  data_extractor_url: "https://acct.example/models/data/data_extractor_1.json",
  config: { "ML params": { model: "ridge" } },
});

/** The text of its config. */
export const CONFIG = JSON.stringify(JSON.parse(PAYLOAD).config);

export const LOST = { kind: "lost", reason: "killed" } as const;

export function failedWith(code: "fit_failed" | "output_failed") {
  return { kind: "failed", problem: problemOf(new MucastError(code, "")) } as const;
}

/** A separate caller for each test, as they share a database. */
export function newCaller(): Caller {
  return { subject: `key:${randomUUID()}`, scopes: new Set(["read", "write"]) };
}

/** Everything between HTTP and the executor, which is a fake, on a real database and a real folder of blobs. */
export class TestedQueue {
  readonly executor: FakeExecutor;
  readonly folder = mkdtempSync(join(tmpdir(), "mucast-queue-"));
  readonly store = new FolderStore(this.folder, "memory:");
  /** Message and fields of each line that the log has for information. */
  readonly logged: { message: string; [field: string]: unknown }[] = [];
  readonly parts: QueueParts;
  readonly dispatcher: Dispatcher;
  operations!: Operations;
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
      ...{ database, executor, store: this.store, webhooks: [], telemetry: noTelemetry },
      leases: new Leases({ database, log: noLog }),
      settings: { events_kept: 1_000, job_seconds: 3_600, concurrent_jobs: 2, cores: 2, ...settings },
      urlOf: (stored) => stored,
      log: { ...noLog, info: (fields, message) => void this.logged.push({ message, ...fields }) },
    };
    this.dispatcher = new Dispatcher(this.parts);
  }

  /** @param dispatch false: nothing claims the operations, so they wait. @param options of the operations. */
  async start({
    dispatch = true,
    ...options
  }: { readonly dispatch?: boolean } & Parameters<typeof operationsOn>[1] = {}): Promise<this> {
    const parts = await operationsOn(this.parts.database, options);
    this.notifications = parts.notifications;
    this.operations = new Operations({ ...parts, settings: { ...parts.settings, ...this.parts.settings } });
    if (dispatch) this.dispatcher.start(this.notifications);
    if (dispatch) await this.parts.leases.look();
    return this;
  }

  async submit(caller: Caller, idempotencyKey?: string): Promise<OperationView> {
    const submission = { operation: "run_ml_job", payload: PAYLOAD, idempotencyKey } as const;
    return (await this.operations.submit(caller, submission)).operation;
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

  /** Writes an output as the operation's job would have done. */
  async leaveOutput({ subject }: Caller, id: string, config: string): Promise<void> {
    const config_sha256 = createHash("sha256").update(config).digest("hex");
    const output = JSON.stringify({ id, provenance: { config_sha256 } });
    await this.store.within(spaceOf(subject)).put(`data/ml_engine_${id}.json`, output);
  }

  /** Like a kill: stores nothing, and lets other services see that this one is gone. */
  async die(): Promise<void> {
    await this.dispatcher.stopClaiming();
    await this.parts.leases.release("operations");
  }

  /** Closes once; later calls wait for the first. */
  close(): Promise<void> {
    const close = async () => {
      await this.dispatcher.drain(0);
      await this.notifications.close();
      rmSync(this.folder, { recursive: true });
    };
    this.#closing ??= close();
    return this.#closing;
  }
}

/** A queue on the database of a test; the test closes it at its end. */
export async function startQueue(
  tested: Pick<TestDatabase, "database">,
  t: { after: (end: () => Promise<void>) => void },
  settings: Partial<QueueParts["settings"]> = {},
  executor = new FakeExecutor(),
): Promise<TestedQueue> {
  const started = await new TestedQueue(tested.database(), settings, executor).start();
  t.after(() => started.close());
  return started;
}

/** One execution of the fake; its test ends it. */
export interface FakeExecution {
  readonly order: JobOrder;
  readonly listener: ExecutionListener;
  readonly stops: StopReason[];
  /** Its workers at the start, and after each change. */
  readonly workers: number[];
  /** The handle by which it was adopted. */
  readonly adopted: string | undefined;
  end(end: ExecutionEnd): void;
}

/** A fake that runs nothing: the test ends its executions. Stopping ends one at once, unless `obeys` is false. */
export class FakeExecutor implements Executor {
  readonly name = "process";
  readonly outlivesService: boolean;
  readonly executions: FakeExecution[] = [];
  obeys = true;
  #refusal: { readonly error: Error; readonly resolve: () => void } | undefined;
  #taken = 0;
  #started = Promise.withResolvers<void>();

  constructor(outlivesService = false) {
    this.outlivesService = outlivesService;
  }

  /** Makes the next start throw. @returns a promise that settles then. */
  refuse(error: Error): Promise<void> {
    return new Promise((resolve) => {
      this.#refusal = { error, resolve };
    });
  }

  async start(order: JobOrder, listener: ExecutionListener): Promise<Execution> {
    const refusal = this.#refusal;
    this.#refusal = undefined;
    refusal?.resolve();
    if (refusal) throw refusal.error;
    return this.#run(order, listener, `fake-${order.id}-${order.attempt}`);
  }

  async adopt(order: JobOrder, handle: string, listener: ExecutionListener): Promise<Execution | undefined> {
    return this.outlivesService ? this.#run(order, listener, handle, handle) : undefined;
  }

  async close(): Promise<void> {
    for (const execution of this.executions) execution.end({ kind: "lost", reason: "closed" });
  }

  /** The next execution, in the order of their starts. */
  async next(): Promise<FakeExecution> {
    const nth = this.#taken++;
    while (this.executions.length <= nth) await this.#started.promise;
    return this.executions[nth]!;
  }

  #run(order: JobOrder, listener: ExecutionListener, handle: string, adopted?: string): Execution {
    const { promise, resolve } = Promise.withResolvers<ExecutionEnd>();
    const [stops, workers]: [StopReason[], number[]] = [[], [order.workers]];
    this.executions.push({ order, listener, stops, workers, adopted, end: resolve });
    this.#started.resolve();
    this.#started = Promise.withResolvers();
    return {
      handle,
      ended: promise,
      setWorkers: (changed) => workers.push(changed),
      stop: (reason) => {
        stops.push(reason);
        if (this.obeys) resolve(stopped(reason));
      },
    };
  }
}

function stopped(reason: StopReason): ExecutionEnd {
  if (reason === "draining") return { kind: "lost", reason: "stopped" };
  return { kind: "failed", problem: problemOf(new MucastError(reason, "stopped")) };
}
