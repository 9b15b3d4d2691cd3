import type { JobEvent, Progress } from "../../contract/events.ts";
import type { Warning } from "../../contract/warnings.ts";
import type { News } from "../store/record-news.ts";

const MILLISECONDS_BETWEEN = 1_000;

/** Gathers what a job tells and hands it on at most once a second, one after the other, and the rest at its end. */
export class NewsFeed {
  readonly #store: (news: News) => Promise<void>;
  readonly #onError: (error: unknown) => void;
  #warnings: Warning[] = [];
  #progress: News["progress"] = null;
  #timer: NodeJS.Timeout | undefined;
  #storing: Promise<void> = Promise.resolve();

  /** @param onError called where news could not be stored: they are lost, the job is not. */
  constructor(store: (news: News) => Promise<void>, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
  }

  readonly take = (event: JobEvent): void => {
    if (event.kind === "warning") this.#warnings.push(event.warning);
    else if (event.kind === "progress") this.#progress = progressOf(event);
    else return;
    this.#timer ??= setTimeout(() => this.#hand(), MILLISECONDS_BETWEEN);
  };

  /** Stores what is left and waits until all of it is. */
  async end(): Promise<void> {
    this.#hand();
    await this.#storing;
  }

  #hand(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#warnings.length === 0 && this.#progress === null) return;
    const news = { warnings: this.#warnings, progress: this.#progress };
    this.#warnings = [];
    this.#progress = null;
    this.#storing = this.#storing.then(() => this.#store(news)).catch(this.#onError);
  }
}

function progressOf({ stage, done, total }: Progress): News["progress"] {
  return { stage, done, total: total ?? null };
}
