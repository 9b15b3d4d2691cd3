import { setTimeout as pause } from "node:timers/promises";
import type { QueueView } from "../../contract/api/queue-view.ts";
import type { StoredEventType } from "../../contract/api/stored-event.ts";
import { claimOperation, releaseLeases, renewLeases } from "../store/claim-operation.ts";
import type { OperationRow } from "../store/operation-rows.ts";
import { CoreBudget } from "./core-budget.ts";
import { LeaseRecovery } from "./lease-recovery.ts";
import type { OperationNotifications } from "./operation-notifications.ts";
import { logFailure, type QueueParts } from "./queue-parts.ts";
import { RunningJob } from "./running-job.ts";

const MILLISECONDS_BETWEEN = { claims: 2_000, renewals: 5_000, recoveries: 10_000 };
/** The delay before a lease is renewed again whose row another session had locked. */
const LOCKED_MILLISECONDS = 1_000;
/** How long a stopped job may take to release its operation. It takes long if the database is unreachable. */
const RELEASE_MILLISECONDS = 10_000;
/** The number of operations that a line of the log names. */
const MAX_LOGGED_IDS = 20;

/**
 * Claims queued operations and starts them on the executor, as many in parallel as the settings allow. Renews the leases of the
 * running ones.
 */
export class Dispatcher {
  readonly #parts: QueueParts;
  readonly #budget: CoreBudget;
  readonly #running = new Map<string, RunningJob>();
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #unsubscribes: (() => void)[] = [];
  readonly #recovery: LeaseRecovery;
  #claiming: Promise<void> | undefined;
  #claimAgain = false;
  #draining = false;
  #drained = false;
  #isDrainNoted = false;
  #renewLocked: NodeJS.Timeout | undefined;

  constructor(parts: QueueParts) {
    this.#parts = parts;
    const { cores, concurrent_jobs } = parts.settings;
    this.#budget = new CoreBudget(parts.executor.outlivesService ? concurrent_jobs : cores, concurrent_jobs);
    this.#recovery = new LeaseRecovery({
      ...parts,
      isRunning: (id) => this.#running.has(id),
      adopt: (row) => this.#run(row),
    });
  }

  get runningJobs(): number {
    return this.#running.size;
  }

  get coresTaken(): number {
    return this.#budget.taken;
  }

  /** How busy it is. It does not know the cores of an executor whose jobs run elsewhere. */
  get occupancy(): QueueView["service"] {
    const { jobs, taken, cores } = this.#budget;
    return {
      running: this.#running.size,
      jobs,
      cores: this.#parts.executor.outlivesService ? null : { used: taken, of: cores },
    };
  }

  /** @param alone no other service uses this database, so every running operation has to be recovered. */
  async start(notifications: OperationNotifications, alone: boolean): Promise<void> {
    // Before the recovery, which may take longer than a lease.
    this.#every(MILLISECONDS_BETWEEN.renewals, () => this.#keepLeases());
    await logFailure(this.#parts.log, () => this.#recovery.recoverAll(alone));
    this.#unsubscribes.push(notifications.onEvent((type, id) => this.#onEvent(type, id)));
    notifications.onMissed(() => this.wake());
    this.#every(MILLISECONDS_BETWEEN.claims, async () => this.wake());
    this.#every(MILLISECONDS_BETWEEN.recoveries, () => this.#recovery.recoverAll(false));
    this.wake();
  }

  /** Claims queued operations now. */
  wake(): void {
    this.#claimAgain = true;
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined;
      if (this.#claimAgain) this.wake();
    });
  }

  /** Starts no further jobs from now on. */
  async stopClaiming(): Promise<void> {
    this.#draining = true;
    this.#recovery.stop();
    for (const timer of this.#timers) clearInterval(timer);
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
    await this.#claiming;
  }

  /**
   * Lets running jobs continue for up to `milliseconds`, with their leases kept, and then releases their operations to the queue.
   * Detaches at once from executions that outlive this service. Another service takes over the operations that could not be released
   * within a few more seconds. Records the drain at once, so that no attempt counts as lost if this process is killed in the
   * meantime.
   */
  async drain(milliseconds: number): Promise<void> {
    this.#draining = true;
    const { database, owner, log, executor } = this.#parts;
    const keep = () => void logFailure(log, () => this.#keepLeases());
    keep();
    await this.stopClaiming();
    // Including the last claimed ones.
    keep();
    const leases = setInterval(keep, MILLISECONDS_BETWEEN.renewals);
    const jobs = [...this.#running.values()];
    const all = Promise.all(jobs.map((job) => job.done));
    const ended = new AbortController();
    await Promise.race([all, this.#stopAll(executor.outlivesService ? 0 : milliseconds, ended.signal)]);
    ended.abort();
    clearInterval(leases);
    this.#drained = true;
    clearTimeout(this.#renewLocked);
    this.#logIds(
      jobs.filter(({ isReleased }) => isReleased).map(({ row }) => row.id),
      "released operations to the queue",
    );
    await logFailure(log, async () =>
      this.#logIds(await releaseLeases(database, owner, "wait"), "left running operations to other services"),
    );
  }

  #logIds(ids: readonly string[], message: string): void {
    if (ids.length === 0) return;
    this.#parts.log.info({ operations: ids.length, operation_ids: ids.slice(0, MAX_LOGGED_IDS) }, message);
  }

  async #stopAll(milliseconds: number, signal: AbortSignal): Promise<void> {
    try {
      await pause(milliseconds, undefined, { signal });
      for (const job of this.#running.values()) this.#stop(job);
      await pause(RELEASE_MILLISECONDS, undefined, { signal });
      for (const job of this.#running.values()) job.detach();
    } catch {
      // The signal aborted the wait: all jobs have ended.
    }
  }

  #stop(job: RunningJob): void {
    if (this.#parts.executor.outlivesService) job.detach();
    else job.stop("draining");
  }

  #onEvent(type: StoredEventType, id: string): void {
    if (type === "queued") this.wake();
    else if (type === "cancel_requested") this.#running.get(id)?.stop("canceled");
  }

  async #claim(): Promise<void> {
    while (this.#claimAgain) {
      this.#claimAgain = false;
      await logFailure(this.#parts.log, async () => {
        while (!this.#draining && this.#budget.hasRoom()) {
          const row = await claimOperation(this.#parts.database, this.#parts.owner);
          if (!row) return;
          this.#run(row);
        }
      });
    }
  }

  #run(row: OperationRow): void {
    const job = new RunningJob(this.#parts, row, this.#budget.next);
    this.#running.set(row.id, job);
    this.#budget.add(job);
    void job.done.then(() => {
      // The next attempt may already run here.
      if (this.#running.get(row.id) === job) this.#running.delete(row.id);
      this.#budget.remove(job);
      this.wake();
    });
  }

  /** Renews the leases. Stops jobs whose cancel was not notified, and detaches from those that another service took over. */
  async #keepLeases(): Promise<void> {
    const before = [...this.#running.values()];
    const leases = await this.#renewLeases();
    const attempts = new Map(leases.map((lease) => [lease.id, lease]));
    for (const job of before) {
      const lease = attempts.get(job.row.id);
      const current = this.#running.get(job.row.id) === job;
      if (current && lease?.attempt !== job.row.attempt) job.detach();
      else if (lease?.cancel_requested_at) job.stop("canceled");
    }
    this.#recovery.recoverUnattended(leases.map(({ id }) => id));
  }

  /** Records the drain with them; an execution that outlives the service is not lost with it. */
  async #renewLeases() {
    const { database, owner, executor } = this.#parts;
    const draining = this.#draining && !executor.outlivesService;
    try {
      const leases = await renewLeases(database, owner, draining);
      if (draining) this.#noteDrain(leases.length);
      if (leases.some(({ isRenewed }) => !isRenewed)) this.#renewSoon();
      return leases;
    } catch (error) {
      this.#recovery.restartLeaseClocks();
      throw error;
    }
  }

  #noteDrain(running: number): void {
    if (!this.#isDrainNoted) this.#parts.log.info({ running }, "recorded the drain");
    this.#isDrainNoted = true;
  }

  /** Other services give a lapsed lease a whole lease's time after its row was locked. */
  #renewSoon(): void {
    if (this.#drained) return;
    clearTimeout(this.#renewLocked);
    const renew = async () => void (await this.#renewLeases());
    this.#renewLocked = setTimeout(() => void logFailure(this.#parts.log, renew), LOCKED_MILLISECONDS);
  }

  #every(milliseconds: number, action: () => Promise<void>): void {
    let busy = false;
    const timer = setInterval(() => {
      if (busy) return;
      busy = true;
      void logFailure(this.#parts.log, action).finally(() => {
        busy = false;
      });
    }, milliseconds);
    this.#timers.push(timer);
  }
}
