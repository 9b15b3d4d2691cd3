import { randomUUID } from "node:crypto";
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { MucastError } from "../../contract/errors/errors.ts";
import { bootId, startTimeOf } from "../../contract/machine/process-stat.ts";
import type { StatusBlob, Timing } from "../../contract/output/status-blob.ts";
import type { Problem } from "../../contract/problems/problem.ts";
import type { ExecutionEnd, ExecutionListener } from "../../executors/executor.ts";
import {
  type HeldLease,
  LEASE_SECONDS,
  leasesOfOthers,
  lockedAmong,
  releaseLease,
  releaseLeases,
  takeOver,
} from "../store/claim-operation.ts";
import { type OperationRow, readOperation } from "../store/operation-rows.ts";
import { finishAttempt } from "./finish-attempt.ts";
import { logFailure, orderOf, type QueueParts } from "./queue-parts.ts";

/** What the dispatcher, which runs jobs, does for the recovery. */
interface LeaseRecoveryParts extends QueueParts {
  readonly isRunning: (id: string) => boolean;
  /** Adopts an attempt that may still be running. */
  readonly adopt: (row: OperationRow) => void;
}

interface SeenLease {
  readonly lease: HeldLease;
  /** By the clock of this process. */
  readonly since: number;
}

/** Recovers the operations of services that are gone, and operations of this service that it does not run. */
export class LeaseRecovery {
  readonly #parts: LeaseRecoveryParts;
  readonly #recovering = new Set<string>();
  /** Ids that this service owned in the database and did not run, at the last renewal. */
  #unattended: ReadonlySet<string> = new Set();
  #recoveringOwn: Promise<void> | undefined;
  /** The leases of other services by id and attempt, with the time when each was first seen unchanged. */
  #seen: ReadonlyMap<string, SeenLease> = new Map();
  #stopped = false;

  constructor(parts: LeaseRecoveryParts) {
    this.#parts = parts;
  }

  /** Adopts nothing from now on. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * Called if the database was unreachable. No service could renew a lease meanwhile, so each gets a whole lease's time when the
   * database is back.
   */
  restartLeaseClocks(): void {
    this.#seen = new Map();
  }

  /** @param alone no other service uses this database, so every running operation has to be recovered. */
  async recoverAll(alone: boolean): Promise<void> {
    const { database, owner, log } = this.#parts;
    const leases = await leasesOfOthers(database, owner);
    for (const other of new Set(leases.map((lease) => lease.owner))) {
      if (isProcessGone(other)) await releaseLeases(database, other, "skip");
    }
    for (const lease of await this.#lapsed(leases)) await releaseLease(database, lease);
    while (!this.#stopped) {
      const row = await takeOver(database, owner, alone);
      if (!row) return;
      await logFailure(log, () => this.#recover(row));
    }
  }

  /**
   * The leases that were not renewed for a whole lease's time, by the monotonic clock of this process. A lease whose row is locked
   * gets a whole lease's time from then on.
   */
  async #lapsed(leases: readonly HeldLease[]): Promise<HeldLease[]> {
    const unchanged = leases.filter((lease) => isSameLease(this.#seen.get(keyOf(lease))?.lease, lease));
    const locked = await lockedAmong(
      this.#parts.database,
      unchanged.map(({ id }) => id),
    );
    const now = performance.now();
    const before = this.#seen;
    const seen = leases.map((lease) => {
      const last = before.get(keyOf(lease));
      const keeps = isSameLease(last?.lease, lease) && !locked.includes(lease.id);
      return [keyOf(lease), { lease, since: keeps ? last!.since : now }] as const;
    });
    this.#seen = new Map(seen);
    return seen.flatMap(([, { lease, since }]) => (now - since > LEASE_SECONDS * 1_000 ? [lease] : []));
  }

  /**
   * Recovers operations that this service owns at two renewals in a row but does not run: the answer to the statement that claimed
   * them was lost, or their recovery failed. Does not wait, because renewals must not wait for the storage.
   * @param owned ids that this service owns in the database.
   */
  recoverUnattended(owned: readonly string[]): void {
    const left = owned.filter((id) => !this.#parts.isRunning(id) && !this.#recovering.has(id));
    const again = left.filter((id) => this.#unattended.has(id));
    this.#unattended = new Set(left);
    if (again.length === 0) return;
    this.#recoveringOwn ??= this.#recoverOwn(again).finally(() => {
      this.#recoveringOwn = undefined;
    });
  }

  async #recoverOwn(ids: readonly string[]): Promise<void> {
    const { database, owner, log, isRunning } = this.#parts;
    for (const id of ids) {
      await logFailure(log, async () => {
        const row = await readOperation(database, id);
        const isOwn = row?.status === "Running" && row.owner === owner;
        if (row && isOwn && !isRunning(id)) await this.#recover(row);
      });
    }
  }

  async #recover(row: OperationRow): Promise<void> {
    if (this.#recovering.has(row.id)) return;
    this.#recovering.add(row.id);
    try {
      this.#parts.log.warn({ operation_id: row.id, attempt: row.attempt }, "took over an operation");
      const mayRun = await recoverAttempt(this.#parts, row);
      if (mayRun && !this.#stopped) this.#parts.adopt(row);
    } finally {
      this.#recovering.delete(row.id);
    }
  }
}

function keyOf({ id, attempt }: HeldLease): string {
  return `${id}.${attempt}`;
}

/** Whether it was not renewed in between. */
function isSameLease(before: HeldLease | undefined, now: HeldLease): boolean {
  return before?.until === now.until && before.owner === now.owner;
}

/** A name for this service that identifies its process, so that another service on this machine can see when it is gone. */
export function newOwner(): string {
  return [machine(), process.pid, startTimeOf(process.pid), randomUUID()].join("/");
}

/** Whether an owner's process has ended; false for a process of another machine. */
function isProcessGone(owner: string): boolean {
  const [where, pid, start] = owner.split("/");
  return where === machine() && startTimeOf(Number(pid)) !== start;
}

/** The scope of a pid: one boot of a machine, or one start of a container on it. */
function machine(): string {
  const namespace = process.platform === "linux" ? readlinkSync("/proc/self/ns/pid") : "";
  return [hostname(), bootId(), namespace].join(",").replaceAll("/", "_");
}

const IGNORED: ExecutionListener = { onEvents: () => undefined, onTimings: () => undefined };

/**
 * Finds out how an attempt of a service that is gone has ended, by its output and its status blob, and stores that.
 * @returns true if its execution may still run and must be adopted.
 * @throws MucastError blob_unavailable, unavailable: the caller retries while the attempt has time left.
 */
async function recoverAttempt(parts: QueueParts, row: OperationRow): Promise<boolean> {
  const isLate = hasNoTimeLeft(parts, row);
  const status = await statusOf(parts, row, isLate);
  if (status?.end) {
    await finishInTime(parts, row, endOf(status.end), status.timings, isLate);
    return false;
  }
  if (parts.executor.outlivesService) return true;
  // On this machine only an execution of this service can still run. `adopt` waits until the processes of any other are gone.
  if (row.handle !== null) {
    const own = await parts.executor.adopt(orderOf(row, 1, parts.urlOf), row.handle, IGNORED);
    if (own) return true;
  }
  const reason = "the service that ran it was killed, crashed, or lost its machine";
  const lost = { kind: "lost", reason } as const;
  await finishInTime(parts, row, lost, [], isLate);
  return false;
}

/** Finishes the attempt without looking for its output if the storage does not respond and the attempt has no time left. */
async function finishInTime(
  parts: QueueParts,
  row: OperationRow,
  end: ExecutionEnd,
  timings: readonly Timing[],
  isLate: boolean,
): Promise<void> {
  try {
    await finishAttempt(parts, row, end, { timings, lookForOutput: true, lostWith: "service" });
  } catch (error) {
    if (!isLate) throw error;
    parts.log.warn({ operation_id: row.id, err: error }, "could not find out whether the output exists");
    await finishAttempt(parts, row, end, { timings, lookForOutput: false, lostWith: "service" });
  }
}

/** Undefined if there is no readable status blob. */
async function statusOf(
  { readStatus, store, log }: QueueParts,
  row: OperationRow,
  isLate: boolean,
): Promise<StatusBlob | undefined> {
  try {
    return await readStatus(store.within(row.space), row.id, row.attempt);
  } catch (error) {
    const isUnreadable = error instanceof MucastError && error.code === "invalid_data";
    if (!isUnreadable && !isLate) throw error;
    log.warn(
      { operation_id: row.id, attempt: row.attempt, err: error },
      "the status of an attempt is not known",
    );
    return undefined;
  }
}

function endOf(end: NonNullable<StatusBlob["end"]>): ExecutionEnd {
  if ("record" in end) return { kind: "succeeded", record: end.record };
  return { kind: "failed", problem: end.problem as Problem };
}

function hasNoTimeLeft({ settings }: QueueParts, { attempt_seconds }: OperationRow): boolean {
  return (attempt_seconds ?? 0) > settings.job_seconds;
}
