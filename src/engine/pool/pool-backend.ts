import type { MucastError } from "../../contract/errors/errors.ts";
import type { Capacity } from "./cluster-capacity.ts";
import type { EngineHost } from "./engine-host.ts";
import type { PendingTask } from "./engine-task.ts";
import type { ChangedSlots, EngineFault, Greeting, TaskResources } from "./protocol.ts";
import type { Workers } from "./workers.ts";

/** Where a pool computes: what differs between this machine and a cluster. */
export interface PoolBackend {
  /** How much it can do at a time; rejects as the pool's greeting does. */
  readonly capacity: Promise<Capacity>;
  /** Tasks that its host gets at a time. */
  readonly limit: number;
  /** What errors call the host. */
  readonly hostName: string;
  readonly killGraceMilliseconds: number | undefined;
  /** Starts the watches of its processes. */
  watch(host: EngineHost, workers: Workers): void;
  /** Stops them. */
  stop(): void;
  /** What a task reserves beyond its slot. */
  resources(task: PendingTask): TaskResources;
  /** Changes how many tasks run at a time, if the caller may do so. */
  setWorkers(workers: number): void;
  /**
   * The host accepts tasks.
   * @param before the greeting of the host before it.
   * @returns why the pool cannot continue with this host.
   */
  onGreeting(greeting: Greeting, before: Greeting | undefined): MucastError | undefined;
  /** The number of slots has changed. */
  onSlots(change: ChangedSlots): void;
  /** A task, or all of them, wait for resources. */
  onDelayed(message: string, task: PendingTask | undefined): void;
  /** The worker of a task has died without having been killed by this process. */
  onLost(task: PendingTask, why: string): void;
  /** The error of a host that has given a reason for its end. @param isLater whether an earlier host had accepted tasks. */
  faultError(fault: EngineFault, isLater: boolean): MucastError;
  /** The error of a task on which every attempt ended with the death of its worker. */
  crashError(task: PendingTask): MucastError;
}
