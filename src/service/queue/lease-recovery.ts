import { randomUUID } from "node:crypto";
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { startTimeOf } from "../../contract/machine/process-stat.ts";
import { bootId } from "../lock/lock-holder.ts";
import {
  type HeldLease,
  LEASE_SECONDS,
  leasesOfOthers,
  releaseLease,
  releaseLeases,
  takeOver,
} from "../store/claim-operation.ts";
import { type OperationRow, readOperation } from "../store/operation-rows.ts";
import { logFailure, type QueueParts } from "./queue-parts.ts";
import { recover } from "./recover-attempt.ts";

/** What takes over is told by whoever runs jobs here. */
export interface LeaseRecoveryParts extends QueueParts {
  readonly isRunning: (id: string) => boolean;
  /** Adopts an attempt that may still be running. */
  readonly begin: (row: OperationRow) => void;
}

interface SeenLease {
  readonly lease: HeldLease;
  /** By the clock of this process. */
  readonly since: number;
}

/** Takes over what services that are gone have left behind, and what is ours but runs nowhere here. */
export class LeaseRecovery {
  readonly #parts: LeaseRecoveryParts;
  readonly #recovering = new Set<string>();
  /** Ours in the database and looked after by nobody here, at the last look. */
  #unattended: ReadonlySet<string> = new Set();
  #attending: Promise<void> | undefined;
  /** The leases of others, by id and attempt, and when each was first seen to end when it does. */
  #seen: ReadonlyMap<string, SeenLease> = new Map();
  readonly #now: () => number;
  #stopped = false;

  /** @param now milliseconds of a clock that is never set. */
  constructor(parts: LeaseRecoveryParts, now: () => number = () => performance.now()) {
    this.#parts = parts;
    this.#now = now;
  }

  /** Nothing is adopted from now on. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * The database could not be reached: nobody could keep a lease meanwhile, and whoever lives gets the time to do so
   * once it is back.
   */
  restartLeaseClocks(): void {
    this.#seen = new Map();
  }

  /** @param alone no other service can be on this database: what runs in it is nobody's. */
  async all(alone: boolean): Promise<void> {
    const { database, owner, log } = this.#parts;
    const leases = await leasesOfOthers(database, owner);
    for (const other of new Set(leases.map((lease) => lease.owner))) {
      if (isGone(other)) await releaseLeases(database, other);
    }
    for (const lease of this.#lapsed(leases)) await releaseLease(database, lease);
    while (!this.#stopped) {
      const row = await takeOver(database, owner, alone);
      if (!row) return;
      await logFailure(log, () => this.#recover(row));
    }
  }

  /** Those that were not prolonged for as long as a lease lasts, by the clock of this process: another may be set. */
  #lapsed(leases: readonly HeldLease[]): HeldLease[] {
    const now = this.#now();
    const before = this.#seen;
    const seen = leases.map((lease) => {
      const key = `${lease.id}.${lease.attempt}`;
      const last = before.get(key);
      const since = last?.lease.until === lease.until && last.lease.owner === lease.owner ? last.since : now;
      return [key, { lease, since }] as const;
    });
    this.#seen = new Map(seen);
    return seen.flatMap(([, { lease, since }]) => (now - since > LEASE_SECONDS * 1_000 ? [lease] : []));
  }

  /**
   * What is ours at two looks and runs nowhere was claimed by a statement whose answer never came, or could not be
   * recovered when it was taken over. It is recovered beside the leases, which must not wait for a storage.
   * @param ours ids of what is ours in the database.
   */
  look(ours: readonly string[]): void {
    const left = ours.filter((id) => !this.#parts.isRunning(id) && !this.#recovering.has(id));
    const again = left.filter((id) => this.#unattended.has(id));
    this.#unattended = new Set(left);
    if (again.length === 0) return;
    this.#attending ??= this.#attend(again).finally(() => {
      this.#attending = undefined;
    });
  }

  async #attend(ids: readonly string[]): Promise<void> {
    const { database, owner, log, isRunning } = this.#parts;
    for (const id of ids) {
      await logFailure(log, async () => {
        const row = await readOperation(database, id);
        const ours = row?.status === "Running" && row.owner === owner;
        if (row && ours && !isRunning(id)) await this.#recover(row);
      });
    }
  }

  async #recover(row: OperationRow): Promise<void> {
    if (this.#recovering.has(row.id)) return;
    this.#recovering.add(row.id);
    try {
      this.#parts.log.warn({ operation_id: row.id, attempt: row.attempt }, "took over an operation");
      const mayRun = await recover(this.#parts, row);
      if (mayRun && !this.#stopped) this.#parts.begin(row);
    } finally {
      this.#recovering.delete(row.id);
    }
  }
}

/** Names this service and its process, so that another one on this machine can tell when it is gone. */
export function newOwner(): string {
  return [machine(), process.pid, startTimeOf(process.pid), randomUUID()].join("/");
}

/** Whether the process of an owner is known to be gone; of one on another machine nothing is known. */
export function isGone(owner: string): boolean {
  const [where, pid, start] = owner.split("/");
  return where === machine() && startTimeOf(Number(pid)) !== start;
}

/** Where pids mean the same processes: a start of a machine, or of a container on it. */
function machine(): string {
  const namespace = process.platform === "linux" ? readlinkSync("/proc/self/ns/pid") : "";
  return [hostname(), bootId(), namespace].join(",").replaceAll("/", "_");
}
