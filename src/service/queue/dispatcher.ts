import { setTimeout as pause } from "node:timers/promises";
import type { QueueView } from "../../contract/api/queue-view.ts";
import { claimOperation, type RunningRow, readOperation } from "../store/attempts.ts";
import type { OperationNotifications } from "../store/follow-events.ts";
import type { QueueParts } from "./finish-attempt.ts";
import { LeasedWork } from "./leased-work.ts";
import type { Lease } from "./leases.ts";
import { RunningJob, recoverAttempt } from "./running-job.ts";

const CLAIM_MILLISECONDS = 2_000;
/** How long a stopped job may take to release its operation. It takes long if the database is unreachable. */
const RELEASE_MILLISECONDS = 10_000;
const MAX_LOGGED_IDS = 20;

/** Claims queued operations and starts them on the executor. Takes over the operations of services that are gone. */
export class Dispatcher {
  readonly #parts: QueueParts;
  readonly #budget: CoreBudget;
  readonly #running = new Map<string, RunningJob>();
  #unsubscribe: () => void = () => undefined;
  #work: LeasedWork<RunningRow> | undefined;
  #draining = false;
  #recovering: Promise<void> = Promise.resolve();
  readonly #toRecover = new Set<string>();

  constructor(parts: QueueParts) {
    this.#parts = parts;
    const { cores, concurrent_jobs } = parts.settings;
    this.#budget = new CoreBudget(parts.executor.outlivesService ? concurrent_jobs : cores, concurrent_jobs);
  }

  /** It does not know the cores of an executor whose jobs run elsewhere. */
  get occupancy(): QueueView["service"] {
    const { jobs, taken, cores } = this.#budget;
    return {
      running: this.#running.size,
      jobs,
      cores: this.#parts.executor.outlivesService ? null : { used: taken, of: cores },
    };
  }

  start(notifications: OperationNotifications): void {
    const { database, leases } = this.#parts;
    leases.watch("operations", {
      onRenewed: (held) => this.#compare(held),
      // If the answer to a claim was lost, or a recovery failed, the row is freed, and taken over like that of a service that has ended.
      isAtWork: (id) => this.#running.has(id) || this.#toRecover.has(id),
      onExpired: async (lease) => {
        if (!this.#draining && (await leases.take("operations", lease))) this.#recover(lease.id);
      },
    });
    this.#unsubscribe = notifications.onEvent((type, id) => {
      if (type === "queued") this.#work?.wake();
      else if (type === "cancel_requested") this.#running.get(id)?.stop("canceled");
    });
    notifications.onMissed(() => {
      this.#work?.wake();
      void this.#logFailure(() => this.#stopCanceled());
    });
    this.#work = new LeasedWork({
      pace: { claimMilliseconds: CLAIM_MILLISECONDS, closeMilliseconds: 0 },
      concurrent: this.#budget.jobs,
      claim: async () => {
        const row = this.#draining ? undefined : await claimOperation(database, leases.owner);
        return row ? [row] : [];
      },
      work: (row) => this.#run(row),
      onError: (error) => this.#warn(error),
    });
  }

  async stopClaiming(): Promise<void> {
    this.#draining = true;
    this.#unsubscribe();
    await this.#work?.stopClaiming();
  }

  /** Running attempts do not count as lost if this process is killed from now on. They may continue for `milliseconds`. */
  async drain(milliseconds: number): Promise<void> {
    this.#draining = true;
    const { leases, executor } = this.#parts;
    await this.#logFailure(() => this.#noteDrain());
    await this.stopClaiming();
    // Including the last claimed ones.
    await this.#logFailure(() => this.#noteDrain());
    const jobs = [...this.#running.values()];
    const ended = new AbortController();
    const all = Promise.all(jobs.map((job) => job.done));
    await Promise.race([all, this.#stopAll(executor.outlivesService ? 0 : milliseconds, ended.signal)]);
    ended.abort();
    const released = jobs.filter(({ isReleased }) => isReleased).map(({ row }) => row.id);
    this.#logIds(released, "released operations to the queue");
    await this.#logFailure(async () =>
      this.#logIds(await leases.release("operations"), "left running operations to other services"),
    );
  }

  async #noteDrain(): Promise<void> {
    const { database, leases, executor, log } = this.#parts;
    if (executor.outlivesService) return;
    const noted = await database.write((db) =>
      db
        .updateTable("operations")
        .set(({ ref }) => ({ drained_attempt: ref("attempt") }))
        .where(({ and }) => and({ owner: leases.owner, status: "Running" }))
        .returning("id")
        .execute(),
    );
    log.info({ running: noted.length }, "recorded the drain");
  }

  #logIds(ids: readonly string[], message: string): void {
    if (ids.length === 0) return;
    this.#parts.log.info({ operations: ids.length, operation_ids: ids.slice(0, MAX_LOGGED_IDS) }, message);
  }

  async #stopAll(milliseconds: number, signal: AbortSignal): Promise<void> {
    try {
      await pause(milliseconds, undefined, { signal });
      for (const job of this.#running.values()) {
        if (this.#parts.executor.outlivesService) job.detach();
        else job.stop("draining");
      }
      await pause(RELEASE_MILLISECONDS, undefined, { signal });
      for (const job of this.#running.values()) job.detach();
    } catch {
      // The signal aborted the wait: all jobs have ended.
    }
  }

  async #run(row: RunningRow): Promise<void> {
    const job = new RunningJob(this.#parts, row, this.#budget.next);
    this.#running.set(row.id, job);
    this.#budget.add(job);
    await job.done;
    // The next attempt may already run here.
    if (this.#running.get(row.id) === job) this.#running.delete(row.id);
    this.#budget.remove(job);
    this.#work?.wake();
  }

  async #compare(held: readonly Lease[]): Promise<void> {
    const { database, leases } = this.#parts;
    const attempts = new Map(held.map(({ id, attempt }) => [id, attempt]));
    for (const [id, job] of this.#running) {
      if (attempts.get(id) === job.row.attempt) continue;
      // It may have been claimed after the renewal.
      const row = await readOperation(database, id);
      if (row?.attempt !== job.row.attempt || row.owner !== leases.owner) job.detach();
    }
    await this.#stopCanceled();
    if (!this.#draining) await this.#takeFreed();
  }

  async #stopCanceled(): Promise<void> {
    if (this.#running.size === 0) return;
    const canceled = await this.#parts.database.db
      .selectFrom("operations")
      .select("id")
      .where("owner", "=", this.#parts.leases.owner)
      .where("cancel_requested_at", "is not", null)
      .execute();
    for (const { id } of canceled) this.#running.get(id)?.stop("canceled");
  }

  async #takeFreed(): Promise<void> {
    const { database, leases } = this.#parts;
    const taken = await database.write((db) =>
      db
        .updateTable("operations")
        .set({ owner: leases.owner })
        .where("status", "=", "Running")
        .where("owner", "is", null)
        .returning("id")
        .execute(),
    );
    for (const { id } of taken) this.#recover(id);
  }

  /** One after the other, and beside the renewals, which must not wait for the storage. */
  #recover(id: string): void {
    const { database, leases, log } = this.#parts;
    const recover = async () => {
      const row = await readOperation(database, id);
      const isOwn = row?.status === "Running" && row.owner === leases.owner;
      if (!row || !isOwn || this.#running.has(id) || this.#draining) return;
      log.warn({ operation_id: id, attempt: row.attempt }, "took over an operation");
      if ((await recoverAttempt(this.#parts, row)) && !this.#draining) this.#work?.begin(row);
      this.#work?.wake();
    };
    this.#toRecover.add(id);
    this.#recovering = this.#recovering
      .then(() => this.#logFailure(recover))
      .finally(() => this.#toRecover.delete(id));
  }

  /** Runs an action that is repeated later: the database or the storage may be unreachable. */
  async #logFailure(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    this.#parts.log.warn({ err: error }, "the queue could not be processed; the service will try again");
  }
}

/** A single job has all cores, and gives some back when another starts. */
export class CoreBudget {
  readonly cores: number;
  readonly jobs: number;
  readonly #shares = new Map<Pick<RunningJob, "setCores">, number>();

  constructor(cores: number, jobs: number) {
    this.cores = cores;
    this.jobs = Math.min(cores, jobs);
  }

  get taken(): number {
    return this.#shares.size === 0 ? 0 : this.cores;
  }

  get next(): number {
    return Math.max(1, Math.floor(this.cores / (this.#shares.size + 1)));
  }

  add(job: Pick<RunningJob, "setCores">): void {
    this.#shares.set(job, this.next);
    this.#share();
  }

  remove(job: Pick<RunningJob, "setCores">): void {
    this.#shares.delete(job);
    this.#share();
  }

  #share(): void {
    const each = Math.floor(this.cores / this.#shares.size);
    let left = this.cores % this.#shares.size;
    for (const [job, before] of this.#shares) {
      const cores = Math.max(1, each + (left-- > 0 ? 1 : 0));
      this.#shares.set(job, cores);
      if (cores !== before) job.setCores(cores);
    }
  }
}
