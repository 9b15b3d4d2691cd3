import {
  claimOperation,
  giveUpLeases,
  renewLeases,
  runningOwners,
  takeOver,
} from "../store/claim-operation.ts";
import type { OperationRow } from "../store/operation-row.ts";
import { readOperation } from "../store/read-operation.ts";
import type { Changes } from "./changes.ts";
import { CoreBudget } from "./core-budget.ts";
import { isGone } from "./owner.ts";
import type { QueueParts } from "./queue-parts.ts";
import { recover } from "./recover.ts";
import { RunningJob } from "./running-job.ts";

const MILLISECONDS_BETWEEN = { looks: 2_000, leases: 5_000, recoveries: 10_000 };

/**
 * Gives waiting operations to the executor, oldest first, as many at a time as the settings allow; keeps the leases
 * of what runs; takes over what a service that is gone has left behind.
 */
export class Dispatcher {
  readonly #parts: QueueParts;
  readonly #budget: CoreBudget;
  readonly #running = new Map<string, RunningJob>();
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #ends: (() => void)[] = [];
  /** Ours in the database and looked after by nobody here, at the last look. */
  #unattended: ReadonlySet<string> = new Set();
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #draining = false;

  constructor(parts: QueueParts) {
    this.#parts = parts;
    const { cores, concurrent_jobs } = parts.settings;
    this.#budget = new CoreBudget(parts.executor.outlivesService ? concurrent_jobs : cores, concurrent_jobs);
  }

  get runningJobs(): number {
    return this.#running.size;
  }

  get coresTaken(): number {
    return this.#budget.taken;
  }

  /** @param alone no other service can be on this database: what runs in it is nobody's. */
  async start(changes: Changes, alone: boolean): Promise<void> {
    await this.#recoverAll(alone);
    this.#ends.push(changes.onEvent((type, id) => this.#onEvent(type, id)));
    changes.onMissed(() => this.wake());
    this.#every(MILLISECONDS_BETWEEN.looks, async () => this.wake());
    this.#every(MILLISECONDS_BETWEEN.leases, () => this.#keepLeases());
    this.#every(MILLISECONDS_BETWEEN.recoveries, () => this.#recoverAll(false));
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
  async stopTaking(): Promise<void> {
    this.#draining = true;
    for (const timer of this.#timers.slice(0)) clearInterval(timer);
    for (const end of this.#ends) end();
    await this.#looking;
  }

  /**
   * Lets what runs finish for as long as `milliseconds`, its leases kept; then hands it back to the queue, or leaves it to
   * run where it outlives this service.
   */
  async drain(milliseconds: number): Promise<void> {
    await this.stopTaking();
    const leases = setInterval(
      () => void this.#quietly(() => this.#keepLeases()),
      MILLISECONDS_BETWEEN.leases,
    );
    const late = setTimeout(() => {
      for (const job of this.#running.values()) this.#leave(job);
    }, milliseconds);
    await Promise.all([...this.#running.values()].map((job) => job.done));
    clearTimeout(late);
    clearInterval(leases);
    await this.#quietly(() => giveUpLeases(this.#parts.database, this.#parts.owner));
  }

  #leave(job: RunningJob): void {
    if (this.#parts.executor.outlivesService) job.letGo();
    else job.stop("draining");
  }

  #onEvent(type: string, id: string): void {
    if (type === "queued") this.wake();
    else if (type === "cancel_requested") this.#running.get(id)?.stop("canceled");
  }

  async #look(): Promise<void> {
    while (this.#lookAgain) {
      this.#lookAgain = false;
      await this.#quietly(async () => {
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
      this.#running.delete(row.id);
      this.#budget.giveBack(cores);
      this.wake();
    });
  }

  /** Also notices what was cancelled while nobody told us, and what another service has taken over. */
  async #keepLeases(): Promise<void> {
    const before = [...this.#running.values()];
    const leases = await renewLeases(this.#parts.database, this.#parts.owner);
    const attempts = new Map(leases.map((lease) => [lease.id, lease]));
    for (const job of before) {
      const lease = attempts.get(job.row.id);
      const current = this.#running.get(job.row.id) === job;
      if (current && lease?.attempt !== job.row.attempt) job.letGo();
      else if (lease?.cancel_requested_at) job.stop("canceled");
    }
    await this.#attend(leases.map(({ id }) => id).filter((id) => !this.#running.has(id)));
  }

  /**
   * What is ours at two looks and runs nowhere was claimed by a statement whose answer never came, or could not be
   * recovered when it was taken over.
   */
  async #attend(ids: readonly string[]): Promise<void> {
    const again = ids.filter((id) => this.#unattended.has(id));
    this.#unattended = new Set(ids);
    for (const id of again) {
      const row = await readOperation(this.#parts.database, id);
      const ours = row?.status === "Running" && row.owner === this.#parts.owner;
      if (row && ours && !this.#running.has(id)) await this.#recover(row);
    }
  }

  async #recover(row: OperationRow): Promise<void> {
    this.#parts.log.warn({ operation_id: row.id, attempt: row.attempt }, "took over an operation");
    if (await recover(this.#parts, row)) this.#begin(row);
  }

  async #recoverAll(alone: boolean): Promise<void> {
    const { database } = this.#parts;
    for (const owner of await runningOwners(database)) if (isGone(owner)) await giveUpLeases(database, owner);
    for (;;) {
      const row = await takeOver(database, this.#parts.owner, alone);
      if (!row) return;
      await this.#recover(row);
    }
  }

  #every(milliseconds: number, action: () => Promise<void>): void {
    let busy = false;
    const timer = setInterval(() => {
      if (busy) return;
      busy = true;
      void this.#quietly(action).finally(() => {
        busy = false;
      });
    }, milliseconds);
    this.#timers.push(timer);
  }

  /** The database may be away: it is tried again at the next turn. */
  async #quietly(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#parts.log.warn({ err: error }, "the queue could not be looked after; it is tried again");
    }
  }
}
