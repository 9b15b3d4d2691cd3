import { giveUpLeases, LEASE_SECONDS, runningOwners, takeOver } from "../store/claim-operation.ts";
import type { OperationRow } from "../store/operation-row.ts";
import { readOperation } from "../store/read-operation.ts";
import { isGone } from "./owner.ts";
import type { QueueParts } from "./queue-parts.ts";
import { quietly } from "./quietly.ts";
import { recover } from "./recover.ts";

/** What takes over is told by whoever runs jobs here. */
export interface TakeoverParts extends QueueParts {
  readonly isRunning: (id: string) => boolean;
  /** Adopts an attempt that may still be running. */
  readonly begin: (row: OperationRow) => void;
}

/** Takes over what services that are gone have left behind, and what is ours but runs nowhere here. */
export class Takeovers {
  readonly #parts: TakeoverParts;
  readonly #recovering = new Set<string>();
  /** Ours in the database and looked after by nobody here, at the last look. */
  #unattended: ReadonlySet<string> = new Set();
  #attending: Promise<void> | undefined;
  /** When the leases of others began to be worth believing. */
  #steadySince = performance.now();
  #stopped = false;

  constructor(parts: TakeoverParts) {
    this.#parts = parts;
  }

  /** Nothing is adopted from now on. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * The database could not be reached: nobody could keep a lease meanwhile, and whoever lives gets the time to do so
   * once it is back.
   */
  wasAway(): void {
    this.#steadySince = performance.now();
  }

  /** @param alone no other service can be on this database: what runs in it is nobody's. */
  async all(alone: boolean): Promise<void> {
    const { database, owner, log } = this.#parts;
    for (const other of await runningOwners(database)) {
      if (isGone(other)) await giveUpLeases(database, other);
    }
    const isSteady = performance.now() - this.#steadySince > LEASE_SECONDS * 1_000;
    const whose = alone ? "everybody's" : isSteady ? "lapsed" : "given up";
    while (!this.#stopped) {
      const row = await takeOver(database, owner, whose);
      if (!row) return;
      await quietly(log, () => this.#recover(row));
    }
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
      await quietly(log, async () => {
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
