import type { ClusterEngine } from "../../contract/engine-url.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { StoppedWatch } from "../../contract/machine/stopped-watch.ts";
import { type Capacity, capacityOf, resourcesOf, tasksAtGateway } from "./cluster-capacity.ts";
import { changedClusterError, clusterError, crashError, lostClusterError } from "./engine-errors.ts";
import type { EngineHost } from "./engine-host.ts";
import type { PendingTask } from "./engine-task.ts";
import type { PoolBackend } from "./pool-backend.ts";
import {
  areAlike,
  type ChangedSlots,
  type EngineFault,
  type Greeting,
  type TaskResources,
} from "./protocol.ts";

interface ClusterBackendOptions {
  readonly cluster: ClusterEngine;
  /** Maximum number of tasks at a time, however many slots the cluster has. */
  readonly workers?: number | undefined;
  readonly killGraceMilliseconds?: number | undefined;
  /** How long the gateway may be stopped (SIGSTOP) before it is killed; 2 minutes (Linux). */
  readonly stoppedMilliseconds?: number;
  /** The first greeting of a gateway. */
  readonly greeting: Promise<Greeting>;
  readonly notice?: ((line: string) => void) | undefined;
}

/** Time for a gateway to cancel a task; its node may answer late. */
const KILL_GRACE_MILLISECONDS = 15_000;
/** Maximum number of lines per job; a cluster whose nodes come and go all day would fill a log. */
const MAX_LINES = 200;
/** The number of nodes that a line names. */
const MAX_NAMED = 5;

/** The gateway to a cluster, whose slots are the workers. They change with the nodes. */
export class ClusterBackend implements PoolBackend {
  readonly capacity: Promise<Capacity>;
  readonly hostName = "the gateway to the cluster";
  readonly killGraceMilliseconds: number;
  readonly #cluster: ClusterEngine;
  readonly #most: number;
  readonly #notice: (line: string) => void;
  #lines = 0;
  readonly #stoppedMilliseconds: number | undefined;
  #stopped: StoppedWatch | undefined;
  #limit = 0;

  constructor({ cluster, workers, greeting, notice, ...options }: ClusterBackendOptions) {
    this.#cluster = cluster;
    this.#most = Math.max(1, workers ?? Number.POSITIVE_INFINITY);
    this.#notice = notice ?? (() => undefined);
    this.killGraceMilliseconds = options.killGraceMilliseconds ?? KILL_GRACE_MILLISECONDS;
    this.#stoppedMilliseconds = options.stoppedMilliseconds;
    this.capacity = greeting.then((first) => capacityOf(first, this.#most));
    this.capacity.catch(() => undefined); // The promise of every task rejects as well.
  }

  get limit(): number {
    return this.#limit;
  }

  /** No task runs on this machine. */
  watch(host: EngineHost): void {
    const gateway = () => [{ pid: host.pid, onStopped: (why: string) => host.kill(why) }];
    this.#stopped = new StoppedWatch(gateway, this.#stoppedMilliseconds);
  }

  stop(): void {
    this.#stopped?.stop();
  }

  resources({ task, node, memoryBytes }: PendingTask): TaskResources {
    return {
      ...resourcesOf(task),
      ...(node === undefined ? {} : { node }),
      ...(memoryBytes === undefined ? {} : { memory: memoryBytes }),
    };
  }

  setWorkers(): void {
    // The cluster decides how many tasks run.
  }

  onGreeting(greeting: Greeting, before: Greeting | undefined): MucastError | undefined {
    this.#limit = tasksAtGateway(greeting.slots ?? 0, this.#most);
    return before && !areAlike(before, greeting) ? changedClusterError(this.#cluster) : undefined;
  }

  onSlots(change: ChangedSlots): void {
    this.#limit = tasksAtGateway(change.slots, this.#most);
    const lost = change.lost.map(({ name, reason }) => `${name} (${reason})`);
    const parts = [...named("came", change.added), ...named("lost", lost)];
    this.#say(`the cluster runs ${counted(change.slots, "task")} at a time now: ${parts.join(", ")}`);
  }

  onDelayed(message: string, task: PendingTask | undefined): void {
    const label = task?.task.label;
    this.#say(label === undefined ? message : `${label}: ${message}`);
  }

  onLost({ task }: PendingTask, why: string): void {
    this.#say(`${task.label ?? "a task"} was lost: ${why}`);
  }

  faultError(fault: EngineFault, isLater: boolean): MucastError {
    const error = clusterError(this.#cluster, fault);
    return isLater ? lostClusterError(this.#cluster, error) : error;
  }

  crashError(task: PendingTask): MucastError {
    return crashError(task, this.#cluster);
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
