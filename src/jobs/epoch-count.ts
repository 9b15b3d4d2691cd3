import type { Report } from "../contract/events.ts";
import type { EpochProgress } from "../engine/network-protocol.ts";

/** Tells how many epochs of all networks are done. One that a second attempt repeats is not counted twice. */
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
  epoch(ticker: string, { epoch, train_loss, validation_loss }: EpochProgress): void {
    this.#advance(ticker, epoch);
    this.#tell({ ticker, epoch, train_loss, validation_loss });
  }

  /** A network is done or has failed: what early stopping saved counts as done. Told where that is anything. */
  end(ticker: string): void {
    if (this.#advance(ticker, this.#epochs) > 0) this.#tell({});
  }

  /** @returns how many epochs are done that were not before. */
  #advance(ticker: string, epochs: number): number {
    const before = this.#done.get(ticker) ?? 0;
    const more = Math.max(0, epochs - before);
    this.#done.set(ticker, before + more);
    this.#sum += more;
    return more;
  }

  #tell(epoch: Partial<EpochProgress> & { readonly ticker?: string }): void {
    this.#report({ kind: "progress", stage: "fit", done: this.#sum, total: this.#total, ...epoch });
  }
}
