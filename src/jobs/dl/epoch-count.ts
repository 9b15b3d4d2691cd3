import type { Report } from "../../contract/output/job-events.ts";
import type { EpochProgress } from "../../engine/pool/network-protocol.ts";

/** Reports how many epochs of all networks are done. An epoch that a second attempt repeats counts once. */
export class EpochCount {
  readonly #epochs: number;
  readonly #total: number;
  readonly #report: Report;
  readonly #done = new Map<string, number>();
  #sum = 0;

  /** @param epochs the most that each network trains. */
  constructor(networks: number, epochs: number, report: Report) {
    this.#epochs = epochs;
    this.#total = networks * epochs;
    this.#report = report;
  }

  /** A network, named by its ticker or `portfolio`, has done an epoch. */
  epoch(name: string, { epoch, train_loss, validation_loss }: EpochProgress): void {
    this.#advance(name, epoch);
    this.#progress({ ticker: name, epoch, train_loss, validation_loss });
  }

  /** A network is done or has failed. Epochs that early stopping saved count as done, and are reported, if any. */
  finish(name: string): void {
    if (this.#advance(name, this.#epochs) > 0) this.#progress({});
  }

  /** @returns how many epochs are done that were not before. */
  #advance(name: string, epochs: number): number {
    const before = this.#done.get(name) ?? 0;
    const more = Math.max(0, epochs - before);
    this.#done.set(name, before + more);
    this.#sum += more;
    return more;
  }

  #progress(epoch: Partial<EpochProgress> & { readonly ticker?: string }): void {
    this.#report({ kind: "progress", stage: "fit", done: this.#sum, total: this.#total, ...epoch });
  }
}
