import { setTimeout as pause } from "node:timers/promises";
import { claimOperation, releaseLeases, renewLeases } from "../store/claim-operation.ts";
import type { OperationRow } from "../store/operation-rows.ts";
import { CoreBudget } from "./core-budget.ts";
import { LeaseRecovery } from "./lease-recovery.ts";
import type { OperationNotifications } from "./operation-notifications.ts";
import { logFailure, type QueueParts } from "./queue-parts.ts";
import { RunningJob } from "./running-job.ts";

const MILLISECONDS_BETWEEN = { looks: 2_000, leases: 5_000, recoveries: 10_000 };
/** How long what was told to stop may take to be handed back: longer where the database is away. */
const HAND_BACK_MILLISECONDS = 10_000;

/**
 * Gives waiting operations to the executor, oldest first, as many at a time as the settings allow; keeps the leases
 * of what runs.
 */
export class Dispatcher {
  readonly #parts: QueueParts;
  readonly #budget: CoreBudget;
  readonly #running = new Map<string, RunningJob>();
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #ends: (() => void)[] = [];
  readonly #recovery: LeaseRecovery;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #draining = false;

  constructor(parts: QueueParts) {
    this.#parts = parts;
    const { cores, concurrent_jobs } = parts.settings;
    this.#budget = new CoreBudget(parts.executor.outlivesService ? concurrent_jobs : cores, concurrent_jobs);
    this.#recovery = new LeaseRecovery({
      ...parts,
      isRunning: (id) => this.#running.has(id),
      begin: (row) => this.#begin(row),
    });
  }

  get runningJobs(): number {
    return this.#running.size;
  }

  get coresTaken(): number {
    return this.#budget.taken;
  }

  /** @param alone no other service can be on this database: what runs in it is nobody's. */
  async start(notifications: OperationNotifications, alone: boolean): Promise<void> {
    // What is taken over is ours for as long as its recovery takes.
    this.#every(MILLISECONDS_BETWEEN.leases, () => this.#keepLeases());
    await logFailure(this.#parts.log, () => this.#recovery.all(alone));
    this.#ends.push(notifications.onEvent((type, id) => this.#onEvent(type, id)));
    notifications.onMissed(() => this.wake());
    this.#every(MILLISECONDS_BETWEEN.looks, async () => this.wake());
    this.#every(MILLISECONDS_BETWEEN.recoveries, () => this.#recovery.all(false));
    this.wake();
  }

  /** Looks for operations that wait, now. */
  wake(): void {
    this.#lookAgain = true;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#lookAgain) this.wake();
    });
  }

  /** No other job is begun from now on. */
  async stopClaiming(): Promise<void> {
    this.#draining = true;
    this.#recovery.stop();
    for (const timer of this.#timers) clearInterval(timer);
    for (const end of this.#ends) end();
    await this.#looking;
  }

  /**
   * Lets what runs finish for as long as `milliseconds`, its leases kept, and then hands it back to the queue; what outlives
   * this service is left to run at once. What cannot be handed back in a few seconds more is left to be taken over.
   */
  async drain(milliseconds: number): Promise<void> {
    await this.stopClaiming();
    const { database, owner, log, executor } = this.#parts;
    const keep = () => void logFailure(log, () => this.#keepLeases());
    const leases = setInterval(keep, MILLISECONDS_BETWEEN.leases);
    const all = Promise.all([...this.#running.values()].map((job) => job.done));
    const ended = new AbortController();
    await Promise.race([all, this.#leaveAll(executor.outlivesService ? 0 : milliseconds, ended.signal)]);
    ended.abort();
    clearInterval(leases);
    await logFailure(log, () => releaseLeases(database, owner));
  }

  async #leaveAll(milliseconds: number, signal: AbortSignal): Promise<void> {
    try {
      await pause(milliseconds, undefined, { signal });
      for (const job of this.#running.values()) this.#leave(job);
      await pause(HAND_BACK_MILLISECONDS, undefined, { signal });
      for (const job of this.#running.values()) job.detach();
    } catch {
      // All have ended before.
    }
  }

  #leave(job: RunningJob): void {
    if (this.#parts.executor.outlivesService) job.detach();
    else job.stop("draining");
  }

  #onEvent(type: string, id: string): void {
    if (type === "queued") this.wake();
    else if (type === "cancel_requested") this.#running.get(id)?.stop("canceled");
  }

  async #look(): Promise<void> {
    while (this.#lookAgain) {
      this.#lookAgain = false;
      await logFailure(this.#parts.log, async () => {
        while (!this.#draining && this.#budget.hasRoom()) {
          const row = await claimOperation(this.#parts.database, this.#parts.owner);
          if (!row) return;
          this.#begin(row);
        }
      });
    }
  }

  #begin(row: OperationRow): void {
    const cores = this.#budget.take();
    const job = new RunningJob(this.#parts, row, cores);
    this.#running.set(row.id, job);
    void job.done.then(() => {
      // Its next attempt may be here already.
      if (this.#running.get(row.id) === job) this.#running.delete(row.id);
      this.#budget.giveBack(cores);
      this.wake();
    });
  }

  /** Also notices what was cancelled while nobody told us, and what another service has taken over. */
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
    this.#recovery.look(leases.map(({ id }) => id));
  }

  async #renewLeases() {
    try {
      return await renewLeases(this.#parts.database, this.#parts.owner);
    } catch (error) {
      this.#recovery.restartLeaseClocks();
      throw error;
    }
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
