import type { EpochProgress } from "../../engine/pool/network-protocol.ts";
import type { FitRun } from "../plan.ts";
import type { Network } from "./train-networks.ts";

/** Reports how many epochs of all networks are done. An epoch that a second attempt repeats counts once. */
export class EpochCount {
  readonly #ensemble: number;
  readonly #epochs: number;
  readonly #total: number;
  readonly #report: FitRun["report"];
  readonly #done = new Map<string, number>();
  #sum = 0;

  /** @param epochs the maximum that each member of a network's ensemble trains. */
  constructor(
    networks: number,
    {
      epochs,
      ensemble,
      report,
    }: { readonly epochs: number; readonly ensemble: number } & Pick<FitRun, "report">,
  ) {
    this.#epochs = epochs;
    this.#ensemble = ensemble;
    this.#total = networks * ensemble * epochs;
    this.#report = report;
  }

  /** A member of a network has finished an epoch. An epoch of a later block is counted, but its losses are not reported. */
  epoch(network: Network, member: number, { epoch, train_loss, validation_loss }: EpochProgress): void {
    const more = this.#advance(network, member, epoch);
    if (network.block === 0) {
      const place = this.#ensemble === 1 ? {} : { member };
      this.#progress({ ticker: network.series.name, ...place, epoch, train_loss, validation_loss });
    } else if (more > 0) this.#progress();
  }

  /** A member is done or has failed. Epochs that early stopping saved count as done; reports them if there are any. */
  finish(network: Network, member: number): void {
    if (this.#advance(network, member, this.#epochs) > 0) this.#progress();
  }

  /** The whole network has failed: members that were not started count as done, too. */
  finishAll(network: Network): void {
    for (let member = 0; member < this.#ensemble; member++) this.finish(network, member);
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
    this.#report({ kind: "progress", stage: "fit", done: this.#sum, total: this.#total, ...epoch });
  }
}
