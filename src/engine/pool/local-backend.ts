import { availableParallelism } from "node:os";
import type { MucastError } from "../../contract/errors/errors.ts";
import { StoppedWatch } from "../../contract/machine/stopped-watch.ts";
import type { Capacity } from "./cluster-capacity.ts";
import { crashError, importError } from "./engine-errors.ts";
import type { EngineHost } from "./engine-host.ts";
import type { PendingTask } from "./engine-task.ts";
import type { PoolBackend } from "./pool-backend.ts";
import type { EngineFault, TaskResources } from "./protocol.ts";
import type { Workers } from "./workers.ts";

interface LocalBackendOptions {
  readonly python: string;
  /** Tasks at a time; by default the cores that this process may use. */
  readonly workers?: number | undefined;
  readonly killGraceMilliseconds?: number | undefined;
  /** How long the host or a worker may be stopped (SIGSTOP) before it is killed; 2 minutes (Linux). */
  readonly stoppedMilliseconds?: number;
}

/** A host on this machine, which forks a worker process for each slot. */
export class LocalBackend implements PoolBackend {
  readonly capacity: Promise<Capacity>;
  readonly hostName = "its host";
  readonly killGraceMilliseconds: number | undefined;
  readonly #python: string;
  #limit: number;
  readonly #stoppedMilliseconds: number | undefined;
  #stopped: StoppedWatch | undefined;

  constructor({ python, workers, killGraceMilliseconds, stoppedMilliseconds }: LocalBackendOptions) {
    this.#python = python;
    this.killGraceMilliseconds = killGraceMilliseconds;
    this.#stoppedMilliseconds = stoppedMilliseconds;
    this.#limit = Math.max(1, workers ?? availableParallelism());
    this.capacity = Promise.resolve({ slots: this.#limit, cpus: this.#limit, gpus: 1 });
  }

  get limit(): number {
    return this.#limit;
  }

  watch(host: EngineHost, workers: Workers): void {
    this.#stopped = new StoppedWatch(() => processes(host, workers), this.#stoppedMilliseconds);
  }

  stop(): void {
    this.#stopped?.stop();
  }

  /** Every worker has one core. */
  resources(): TaskResources {
    return {};
  }

  setWorkers(workers: number): void {
    this.#limit = Math.max(1, workers);
  }

  /** A new host of this machine has the libraries of the one before. */
  onGreeting(): undefined {
    return undefined;
  }

  onSlots(): void {
    // The number of workers changes by `setWorkers` alone.
  }

  onDelayed(): void {
    // No task waits for resources here.
  }

  onLost(): void {
    // The pool logs it.
  }

  faultError({ message }: EngineFault): MucastError {
    return importError(this.#python, message);
  }

  crashError(task: PendingTask): MucastError {
    return crashError(task, undefined);
  }
}

function* processes(host: EngineHost, workers: Workers) {
  yield { pid: host.pid, onStopped: (why: string) => host.kill(why) };
  for (const worker of workers) {
    const onStopped = (reason: string) => workers.kill(worker, { details: reason, mayEndBetter: true });
    if (!worker.killed) yield { pid: worker.pid, onStopped };
  }
}
