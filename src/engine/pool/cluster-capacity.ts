import type { EngineTask, Greeting, TaskResources } from "./protocol.ts";

/** How much an engine does at a time. */
export interface Capacity {
  /** Tasks of one thread. */
  readonly slots: number;
  /** Threads that one task may have: cores of the largest node, or of this machine. */
  readonly cpus: number;
  /** Tasks that each have a GPU; 1 on this machine, where one device is resolved for the whole job. */
  readonly gpus: number;
}

/** Threads that a joint network has work for; SLOTS of mucast_engine.networks.joint.objective. */
const JOINT_THREADS = 4;

/** Threads of a joint network's task. No byte depends on it. */
export function jointThreads({ slots, cpus }: Capacity): number {
  return Math.min(slots, cpus, JOINT_THREADS);
}

/** Of a cluster. @param most tasks at a time that the caller wants. */
export function capacityOf({ cluster, slots = 0 }: Greeting, most: number): Capacity {
  const nodes = cluster?.nodes ?? [];
  return {
    slots: Math.max(1, Math.min(slots, most)),
    cpus: Math.max(1, ...nodes.map(({ cpus }) => Math.floor(cpus))),
    gpus: Math.max(1, gpusOf(nodes)),
  };
}

/** So that a node that ends a task has its next one already, with its arrays, and does not wait for this machine. */
const MAX_AHEAD = 64;

/** Tasks that a gateway is given at a time: besides those that run one more for each slot, but never more than the caller wants. */
export function tasksAtGateway(slots: number, most: number): number {
  return Math.min(most, slots + Math.min(slots, MAX_AHEAD));
}

/** What a task takes of a cluster, if that is more than one core; the gateway takes a look for GPUs to a node that has one. */
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

/** Whole GPUs: a task does not share one. */
function gpusOf(nodes: NonNullable<Greeting["cluster"]>["nodes"]): number {
  return nodes.reduce((sum, { gpus }) => sum + Math.floor(gpus), 0);
}
