import type { EngineTask, Greeting, TaskResources } from "./protocol.ts";

/** How much an engine can do at a time. */
export interface Capacity {
  /** Tasks with one thread each. */
  readonly slots: number;
  /** Maximum number of threads of one task: the cores of the largest node, or of this machine. */
  readonly cpus: number;
  /** Tasks that each have a GPU; 1 on this machine, where one device is resolved for the whole job. */
  readonly gpus: number;
}

/** The number of threads that a joint network can keep busy; SLOTS of mucast_engine.networks.joint. */
const JOINT_THREADS = 4;

/** The number of threads of a joint network's task. It does not affect any byte. */
export function jointThreads({ slots, cpus }: Capacity): number {
  return Math.min(slots, cpus, JOINT_THREADS);
}

/** The capacity of a cluster. @param most number of tasks at a time that the caller wants. */
export function capacityOf({ cluster, slots = 0 }: Greeting, most: number): Capacity {
  const nodes = cluster?.nodes ?? [];
  return {
    slots: Math.max(1, Math.min(slots, most)),
    cpus: Math.max(1, ...nodes.map(({ cpus }) => Math.floor(cpus))),
    gpus: Math.max(1, gpusOf(nodes)),
  };
}

/** A node that finishes a task then already has its next one, with its arrays, and does not wait for this machine. */
const MAX_AHEAD = 64;

/** The number of tasks that a gateway gets at a time: one more per slot than can run, but never more than the caller wants. */
export function tasksAtGateway(slots: number, most: number): number {
  return Math.min(most, slots + Math.min(slots, MAX_AHEAD));
}

/** What a task needs of a cluster, if that is more than one core. The gateway sends a GPU inquiry to a node that has one. */
export function resourcesOf(task: EngineTask): TaskResources {
  switch (task.task) {
    case "train_joint": {
      const cpus = Math.min(task.threads, JOINT_THREADS);
      return { ...(cpus > 1 ? { cpus } : {}), ...gpuOf(task.device) };
    }
    case "train_stack":
    case "train_network":
      return gpuOf(task.device);
    case "device":
    case "fit_predict":
    case "trial":
      return {};
    default:
      return task satisfies never;
  }
}

function gpuOf(device: string): TaskResources {
  return device === "cpu" ? {} : { gpus: 1 };
}

/** Whole GPUs, because tasks do not share one. */
function gpusOf(nodes: NonNullable<Greeting["cluster"]>["nodes"]): number {
  return nodes.reduce((sum, { gpus }) => sum + Math.floor(gpus), 0);
}
