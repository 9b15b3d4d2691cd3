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

  /** A network is done or has failed: what early stopping saved counts as done. */
  end(ticker: string): void {
    this.#advance(ticker, this.#epochs);
    this.#tell({});
  }

  #advance(ticker: string, epochs: number): void {
    const before = this.#done.get(ticker) ?? 0;
    this.#done.set(ticker, Math.max(before, epochs));
    this.#sum += Math.max(0, epochs - before);
  }

  #tell(epoch: Partial<EpochProgress> & { readonly ticker?: string }): void {
    this.#report({ kind: "progress", stage: "fit", done: this.#sum, total: this.#total, ...epoch });
  }
}
