import type { EpochProgress } from "../../engine/pool/network-protocol.ts";
import type { Network, TrainOptions } from "./train-networks.ts";

/** Reports how many epochs of all networks are done. An epoch that a second attempt repeats counts once. */
export class EpochCount {
  readonly #options: Pick<TrainOptions, "epochs" | "ensemble" | "report">;
  readonly #total: number;
  readonly #done = new Map<string, number>();
  #sum = 0;

  constructor(networks: number, options: Pick<TrainOptions, "epochs" | "ensemble" | "report">) {
    this.#options = options;
    this.#total = networks * options.ensemble * options.epochs;
  }

  /** A member of a network has finished an epoch. An epoch of a later block is counted, but its losses are not reported. */
  epoch(network: Network, member: number, { epoch, train_loss, validation_loss }: EpochProgress): void {
    const more = this.#advance(network, member, epoch);
    if (network.block === 0) {
      const place = this.#options.ensemble === 1 ? {} : { member };
      this.#progress({ ticker: network.series.name, ...place, epoch, train_loss, validation_loss });
    } else if (more > 0) this.#progress();
  }

  /** A member is done or has failed. Epochs that early stopping saved count as done; reports them if there are any. */
  finish(network: Network, member: number): void {
    if (this.#advance(network, member, this.#options.epochs) > 0) this.#progress();
  }

  /** The whole network has failed: members that were not started count as done, too. */
  finishAll(network: Network): void {
    for (let member = 0; member < this.#options.ensemble; member++) this.finish(network, member);
  }

  /** @returns the number of newly finished epochs. */
  #advance({ series: { name }, block }: Network, member: number, epochs: number): number {
    const place = `${block} ${member} ${name}`;
    const before = this.#done.get(place) ?? 0;
    const more = Math.max(0, epochs - before);
    this.#done.set(place, before + more);
    this.#sum += more;
    return more;
  }

  #progress(
    epoch: Partial<EpochProgress> & { readonly ticker?: string; readonly member?: number } = {},
  ): void {
    this.#options.report({ kind: "progress", stage: "fit", done: this.#sum, total: this.#total, ...epoch });
  }
}
