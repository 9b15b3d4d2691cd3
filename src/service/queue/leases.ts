import { randomUUID } from "node:crypto";
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { bootId, startTimeOf } from "../../contract/machine/process-stat.ts";
import type { Database } from "../database/database.ts";
import { repeatSweep } from "../row-sweep.ts";
import type { Log } from "../telemetry/log.ts";

/** A lease has expired when its row has not changed for this long. */
export const LEASE_SECONDS = 20;
const BEAT_MILLISECONDS = 5_000;

/** The tables whose rows one service at a time works on. */
type LeasedTable = "operations" | "webhook_deliveries" | "tracking";

/** A row that a service has claimed. `beat` changes with each renewal, and `attempt` with each claim. */
export interface Lease {
  readonly id: string;
  readonly attempt: number;
  readonly owner: string;
  readonly beat: number;
}

interface Worker {
  readonly onRenewed?: (held: readonly Lease[]) => Promise<void>;
  readonly onExpired?: (lease: Lease) => Promise<void>;
  /** Whether this service works on a row that it holds. One that it does not at two renewals in a row is free again. */
  readonly isAtWork?: (id: string) => boolean;
}

/** A lease has expired if its process on this machine is gone, or if it has not changed for 20 s by the monotonic clock of this process. */
export class Leases {
  /** Names this service's process in its leases, so that another service on this machine can see when it is gone. */
  readonly owner = [machine(), process.pid, startTimeOf(process.pid), randomUUID()].join("/");
  readonly #parts: { readonly database: Database; readonly log: Log };
  readonly #watched = new Map<LeasedTable, { worker: Worker; seen: SeenLeases; idle: ReadonlySet<string> }>();
  #stop: () => Promise<void> = async () => undefined;

  constructor(parts: { readonly database: Database; readonly log: Log }) {
    this.#parts = parts;
  }

  watch(table: LeasedTable, worker: Worker = {}): void {
    this.#watched.set(table, { worker, seen: new SeenLeases(), idle: new Set() });
  }

  start(): void {
    this.#stop = repeatSweep(
      () => this.look(),
      BEAT_MILLISECONDS,
      () => undefined,
    );
  }

  stop(): Promise<void> {
    return this.#stop();
  }

  async look(): Promise<void> {
    for (const [table, watched] of this.#watched) {
      const { onRenewed, onExpired } = watched.worker;
      try {
        const held = await this.renew(table);
        await onRenewed?.(held);
        // The claim got no answer, or the outcome could not be stored.
        const idle = held.filter(({ id }) => watched.worker.isAtWork?.(String(id)) === false);
        for (const lease of idle) if (watched.idle.has(lease.id)) await this.take(table, lease, null);
        watched.idle = new Set(idle.map(({ id }) => id));
        for (const lease of await this.#findExpired(table, watched.seen))
          await (onExpired ? onExpired(lease) : this.take(table, lease, null));
      } catch (error) {
        const message = "leases could not be renewed; the service will try again";
        this.#parts.log.warn({ err: error, table }, message);
      }
    }
  }

  renew(table: LeasedTable): Promise<Lease[]> {
    return this.#parts.database.write((db) =>
      db
        .updateTable(shape(table))
        .set(({ eb }) => ({ beat: eb("beat", "+", 1) }))
        .where("owner", "=", this.owner)
        .returning(["id", "attempt", "owner", "beat"])
        .$narrowType<{ owner: string }>()
        .execute(),
    );
  }

  async #findExpired(table: LeasedTable, seen: SeenLeases): Promise<Lease[]> {
    const others = await this.#parts.database.db
      .selectFrom(shape(table))
      .select(["id", "attempt", "owner", "beat"])
      .where("owner", "is not", null)
      .where("owner", "<>", this.owner)
      .$narrowType<{ owner: string }>()
      .execute();
    const unchanged = new Set(seen.findUnchanged(others));
    const [here] = this.owner.split("/");
    return others.filter((lease) => {
      const [where, pid, start] = lease.owner.split("/");
      return unchanged.has(lease) || (where === here && startTimeOf(Number(pid)) !== start);
    });
  }

  /** @param to null frees the row. @returns false if it was renewed or taken meanwhile. */
  async take(
    table: LeasedTable,
    { id, attempt, owner, beat }: Lease,
    to: string | null = this.owner,
  ): Promise<boolean> {
    const taken = await this.#parts.database.write((db) =>
      db
        .updateTable(shape(table))
        .set({ owner: to, beat: beat + 1 })
        .where(({ and }) => and({ id, attempt, owner, beat }))
        .returning("id")
        .executeTakeFirst(),
    );
    return taken !== undefined;
  }

  async release(table: LeasedTable): Promise<string[]> {
    const freed = await this.#parts.database.write((db) =>
      db
        .updateTable(shape(table))
        .set({ owner: null })
        .where("owner", "=", this.owner)
        .returning("id")
        .execute(),
    );
    return freed.map(({ id }) => id);
  }
}

/** All three tables have the columns of a lease; for the type checker, this one stands for them. */
function shape(table: LeasedTable) {
  return table as "tracking";
}

/** When each lease of others was first seen unchanged. */
export class SeenLeases {
  #seen = new Map<string, { readonly beat: number; readonly since: number }>();
  #looked = 0;

  /** @param now milliseconds of a monotonic clock. @returns the leases that have not changed for a whole lease's time. */
  findUnchanged(leases: readonly Lease[], now = performance.now()): Lease[] {
    // This process, or the database, stood still: no lease could be seen to change, so each gets its whole time again.
    const before = now - this.#looked > (LEASE_SECONDS * 1_000) / 2 ? new Map() : this.#seen;
    this.#looked = now;
    this.#seen = new Map(
      leases.map((lease) => {
        const key = JSON.stringify([lease.id, lease.attempt, lease.owner]);
        const known = before.get(key);
        return [key, known?.beat === lease.beat ? known : { beat: lease.beat, since: now }];
      }),
    );
    const seen = [...this.#seen.values()];
    return leases.filter((_, index) => now - seen[index]!.since >= LEASE_SECONDS * 1_000);
  }
}

/** The scope of a pid: one boot of a machine, or one start of a container on it. */
function machine(): string {
  const namespace = process.platform === "linux" ? readlinkSync("/proc/self/ns/pid") : "";
  return [hostname(), bootId(), namespace].join(",").replaceAll("/", "_");
}
