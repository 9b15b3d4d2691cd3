import type { ClusterEngine } from "../../contract/engine-url.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type Capacity, capacityOf, resourcesOf, tasksAtGateway } from "./cluster-capacity.ts";
import { changedClusterError, clusterError, crashError, lostClusterError } from "./engine-errors.ts";
import type { PendingTask } from "./engine-task.ts";
import type { PoolBackend } from "./pool-backend.ts";
import {
  areAlike,
  type ChangedSlots,
  type EngineFault,
  type Greeting,
  type TaskResources,
} from "./protocol.ts";
import { resultFault } from "./task-results.ts";

interface ClusterBackendOptions {
  readonly cluster: ClusterEngine;
  /** Maximum number of tasks at a time, however many slots the cluster has. */
  readonly workers?: number | undefined;
  readonly killGraceMilliseconds?: number | undefined;
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
  readonly #notices: ClusterNotices;
  #limit = 0;

  constructor({ cluster, workers, killGraceMilliseconds, greeting, notice }: ClusterBackendOptions) {
    this.#cluster = cluster;
    this.#most = Math.max(1, workers ?? Number.POSITIVE_INFINITY);
    this.#notices = new ClusterNotices(notice ?? (() => undefined));
    this.killGraceMilliseconds = killGraceMilliseconds ?? KILL_GRACE_MILLISECONDS;
    this.capacity = greeting.then((first) => capacityOf(first, this.#most));
    this.capacity.catch(() => undefined); // The promise of every task rejects as well.
  }

  get limit(): number {
    return this.#limit;
  }

  watch(): void {
    // The heartbeat of a gateway shows that it runs, and no task runs on this machine.
  }

  stop(): void {
    // There is no watch.
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
    this.#notices.changed(change);
  }

  onDelayed(message: string, task: PendingTask | undefined): void {
    const label = task?.task.label;
    this.#notices.say(label === undefined ? message : `${label}: ${message}`);
  }

  onLost({ task }: PendingTask, why: string): void {
    this.#notices.say(`${task.label ?? "a task"} was lost: ${why}`);
  }

  faultError(fault: EngineFault, isLater: boolean): MucastError {
    const error = clusterError(this.#cluster, fault);
    return isLater ? lostClusterError(this.#cluster, error) : error;
  }

  crashError(task: PendingTask): MucastError {
    return crashError(task, this.#cluster);
  }

  /** Another node may give a good answer where one gave a wrong one, so the attempt counts as lost. */
  answerFault({ task }: PendingTask, result: unknown): { lost: string } | undefined {
    const fault = resultFault(task, result);
    return fault === undefined
      ? undefined
      : { lost: `its node answered with something else than a result: ${fault}` };
  }
}

/** The lines about a cluster in a job's log: nodes that come and go, tasks that wait or are lost. */
class ClusterNotices {
  readonly #write: (line: string) => void;
  #lines = 0;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  say(line: string): void {
    this.#lines++;
    if (this.#lines <= MAX_LINES) this.#write(line);
    else if (this.#lines === MAX_LINES + 1) this.#write("further events of the cluster are not logged");
  }

  /** Reports nodes that have come or gone. */
  changed({ slots, added, lost }: ChangedSlots): void {
    const parts = [
      ...named("came", added),
      ...named(
        "lost",
        lost.map(({ name, reason }) => (reason === "" ? name : `${name} (${reason})`)),
      ),
    ];
    if (parts.length > 0)
      this.say(`the cluster runs ${counted(slots, "task")} at a time now: ${parts.join(", ")}`);
  }
}

function named(what: string, nodes: readonly string[]): string[] {
  if (nodes.length === 0) return [];
  const more = nodes.length - MAX_NAMED;
  const names = `${nodes.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return [`${what} ${names}`];
}
