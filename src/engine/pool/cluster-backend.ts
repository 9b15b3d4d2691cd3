import type { ClusterEngine } from "../../contract/engine-url.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type Capacity, capacityOf, resourcesOf, tasksAtGateway } from "./cluster-capacity.ts";
import { changedClusterError, clusterError, lostClusterError } from "./engine-errors.ts";
import {
  areAlike,
  type ChangedSlots,
  type EngineFault,
  type Greeting,
  type TaskResources,
} from "./protocol.ts";
import type { PendingTask } from "./workers.ts";

interface ClusterBackendOptions {
  readonly cluster: ClusterEngine;
  /** Maximum number of tasks at a time, however many slots the cluster has. */
  readonly workers?: number | undefined;
  /** The first greeting of a gateway. */
  readonly greeting: Promise<Greeting>;
  readonly notice?: ((line: string) => void) | undefined;
}

/** Maximum number of lines per job; a cluster whose nodes come and go all day would fill a log. */
const MAX_LINES = 200;
/** The number of nodes that a line names. */
const MAX_NAMED = 5;

/** The gateway to a cluster, whose slots are the workers. They change with the nodes. */
export class ClusterBackend {
  readonly capacity: Promise<Capacity>;
  readonly #cluster: ClusterEngine;
  readonly #most: number;
  readonly #notice: (line: string) => void;
  #lines = 0;
  #limit = 0;

  constructor({ cluster, workers, greeting, notice }: ClusterBackendOptions) {
    this.#cluster = cluster;
    this.#most = Math.max(1, workers ?? Number.POSITIVE_INFINITY);
    this.#notice = notice ?? (() => undefined);
    this.capacity = greeting.then((first) => capacityOf(first, this.#most));
    this.capacity.catch(() => undefined); // The promise of every task rejects as well.
  }

  get limit(): number {
    return this.#limit;
  }

  /** What a task reserves beyond its slot. */
  resources({ task, node, memoryBytes }: PendingTask): TaskResources {
    return {
      ...resourcesOf(task),
      ...(node === undefined ? {} : { node }),
      ...(memoryBytes === undefined ? {} : { memory: memoryBytes }),
    };
  }

  /**
   * The gateway accepts tasks.
   * @param before the greeting of the gateway before it.
   * @returns why the pool cannot continue with this one.
   */
  onGreeting(greeting: Greeting, before: Greeting | undefined): MucastError | undefined {
    this.#limit = tasksAtGateway(greeting.slots ?? 0, this.#most);
    return before && !areAlike(before, greeting) ? changedClusterError(this.#cluster) : undefined;
  }

  /** The number of slots has changed. */
  onSlots(change: ChangedSlots): void {
    this.#limit = tasksAtGateway(change.slots, this.#most);
    const lost = change.lost.map(({ name, reason }) => `${name} (${reason})`);
    const parts = [...named("came", change.added), ...named("lost", lost)];
    this.#say(`the cluster runs ${counted(change.slots, "task")} at a time now: ${parts.join(", ")}`);
  }

  /** A task, or all of them, wait for resources. */
  onDelayed(message: string, task: PendingTask | undefined): void {
    const label = task?.task.label;
    this.#say(label === undefined ? message : `${label}: ${message}`);
  }

  /** The slot of a task has ended without having been killed by this process. */
  onLost({ task }: PendingTask, why: string): void {
    this.#say(`${task.label ?? "a task"} was lost: ${why}`);
  }

  /** The error of a gateway that has given a reason for its end. @param isLater whether an earlier one had accepted tasks. */
  faultError(fault: EngineFault, isLater: boolean): MucastError {
    const error = clusterError(this.#cluster, fault);
    return isLater ? lostClusterError(this.#cluster, error) : error;
  }

  #say(line: string): void {
    this.#lines++;
    if (this.#lines <= MAX_LINES) this.#notice(line);
    else if (this.#lines === MAX_LINES + 1) this.#notice("further events of the cluster are not logged");
  }
}

function named(what: string, nodes: readonly string[]): string[] {
  if (nodes.length === 0) return [];
  const more = nodes.length - MAX_NAMED;
  const names = `${nodes.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return [`${what} ${names}`];
}
