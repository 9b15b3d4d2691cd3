import type { MucastError } from "../../contract/errors/errors.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { TrainJointTask, TrainNetworkTask, TrainResult } from "../../engine/pool/network-protocol.ts";
import { memberTask, predictionsOf, removeFiles, type TrainedNetwork, trainedNetwork } from "./ensemble.ts";
import type { PlannedNetwork, WrittenTask } from "./planned-network.ts";

/** One member of a network, which has started. */
export interface Member {
  readonly of: NetworkMembers;
  readonly member: number;
}

/** Why a member failed: an error of its task, or of its entry in a stack. */
export type NetworkFault =
  | MucastError
  | (Pick<Failure, "code" | "message"> & { readonly data?: MucastError["data"] });

/**
 * The members of one network, on matrices that are written when the first member starts and removed when the last one ends. They
 * start in order, and none starts once one has failed; running ones continue, so that the first failed member is the same
 * whichever ends first.
 */
export class NetworkMembers {
  readonly network: PlannedNetwork;
  readonly ensemble: number;
  #written: Promise<WrittenTask> | undefined;
  /** Members that have started and not ended. */
  #running = 0;
  readonly #results = new Map<number, TrainResult>();
  readonly #errors = new Map<number, NetworkFault>();
  #trained: TrainedNetwork | undefined;
  #hasBegun = false;

  constructor(network: PlannedNetwork, ensemble: number) {
    this.network = network;
    this.ensemble = ensemble;
  }

  get hasFailed(): boolean {
    return this.#errors.size > 0;
  }

  /** Whether any member has started: a network that would be trained in vain starts none. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** No member is running, and none will. */
  get isDone(): boolean {
    return this.#running === 0 && (this.hasFailed || this.#trained !== undefined);
  }

  /** A member will run: until it ends, the matrices stay. */
  begin(): void {
    this.#hasBegun = true;
    this.#running++;
  }

  /** The task of a member that has started. @throws like PlannedNetwork's `task`. */
  async task(
    member: number,
    means: Parameters<PlannedNetwork["task"]>[0],
  ): Promise<TrainNetworkTask | TrainJointTask> {
    this.#written ??= this.network.task(means);
    const { task } = await this.#written;
    return memberTask(task, this.network.name, member, this.ensemble);
  }

  /** Ends a member that was trained; the last one yields the forecasts of all. */
  async finish(member: number, result: TrainResult): Promise<void> {
    this.#results.set(member, result);
    if (this.#results.size === this.ensemble) {
      const results = Array.from({ length: this.ensemble }, (_, place) => this.#results.get(place)!);
      this.#trained = trainedNetwork(this.network, results);
    }
    await this.#end();
  }

  /** Ends a member that failed. */
  async fail(member: number, error: NetworkFault): Promise<void> {
    this.#errors.set(member, error);
    await this.#end();
  }

  /** The result, or the fault of the first failed member; once none is running any more. */
  get result(): TrainedNetwork | NetworkFault {
    return this.#errors.get(Math.min(...this.#errors.keys())) ?? this.#trained!;
  }

  async #end(): Promise<void> {
    this.#running--;
    if (!this.isDone) return;
    const written = await this.#written!.catch(() => undefined);
    if (written === undefined) return; // It had too little to learn from.
    const { files, task } = written;
    const predictions = Array.from(
      { length: this.ensemble },
      (_, member) => predictionsOf(task, member, this.ensemble).ref,
    );
    removeFiles([...files, ...predictions]);
  }
}

/**
 * Yields every member of every network, each started when it is taken. Skips the members of a failed network, and every network
 * whose name's first network failed: that ticker has failed whatever the later networks forecast.
 * @param onVain called with each skipped network.
 */
export function* membersInTurn(
  networks: readonly NetworkMembers[],
  onVain: (network: PlannedNetwork) => void,
): Generator<Member, void, void> {
  const first = new Map(networks.filter(({ network }) => network.isFirst).map((of) => [of.network.name, of]));
  for (const of of networks) {
    if (!of.network.isFirst && first.get(of.network.name)?.hasFailed) {
      onVain(of.network);
      continue;
    }
    for (let member = 0; member < of.ensemble && !of.hasFailed; member++) {
      of.begin();
      yield { of, member };
    }
  }
}
