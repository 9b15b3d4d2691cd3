import type { ServerResponse } from "node:http";
import { MucastError } from "../../contract/errors/errors.ts";

const RETRY_SECONDS = 5;

/** How many downloads go on at the same time: each holds a file or a connection to the storage, and some buffers. */
export interface DownloadLimits {
  readonly downloads: number;
  readonly downloads_per_caller: number;
}

/** Counts the downloads that go on, of each caller and in all. */
export class OpenDownloads {
  readonly #limits: DownloadLimits;
  readonly #open = new Map<string, number>();
  #all = 0;

  constructor(limits: DownloadLimits) {
    this.#limits = limits;
  }

  /** Counts a download until its connection is done with it. @throws MucastError rate_limited, unavailable. */
  begin(subject: string, response: Pick<ServerResponse, "once" | "destroyed">): void {
    if (response.destroyed) return;
    const open = this.#open.get(subject) ?? 0;
    const { downloads, downloads_per_caller } = this.#limits;
    if (open >= downloads_per_caller) {
      const message = `${open} downloads of this caller go on already (downloads_per_caller)`;
      throw new MucastError("rate_limited", message, { retryAfter: RETRY_SECONDS, limit: open });
    }
    if (this.#all >= downloads) {
      const message = `${this.#all} downloads go on already (downloads)`;
      throw new MucastError("unavailable", message, { retryAfter: RETRY_SECONDS, limit: this.#all });
    }
    this.#all += 1;
    this.#open.set(subject, open + 1);
    response.once("close", () => this.#end(subject));
  }

  #end(subject: string): void {
    this.#all -= 1;
    const open = this.#open.get(subject)! - 1;
    if (open === 0) this.#open.delete(subject);
    else this.#open.set(subject, open);
  }
}
