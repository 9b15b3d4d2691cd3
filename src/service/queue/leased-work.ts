export interface Pace {
  /** Milliseconds between two looks for due rows. */
  readonly claimMilliseconds: number;
  /** Seconds until the next attempt, by the number of attempts. */
  readonly retryDelay: (attempts: number) => number;
  /** Milliseconds that attempts in progress may continue when the service closes. */
  readonly closeMilliseconds: number;
}

interface WorkParts<Row> {
  readonly pace: Omit<Pace, "retryDelay">;
  readonly concurrent: number;
  readonly claim: (most: number) => Promise<readonly Row[]>;
  readonly work: (row: Row, signal: AbortSignal) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

export class LeasedWork<Row extends { readonly id: string | number }> {
  readonly #parts: WorkParts<Row>;
  readonly #aborting = new AbortController();
  readonly #working = new Map<string, Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #claiming: Promise<void> | undefined;
  #claimAgain = false;
  #isClosing = false;
  /** There may be due rows for which there was no room. */
  #isFull = false;

  constructor(parts: WorkParts<Row>) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.wake(), parts.pace.claimMilliseconds);
    this.wake();
  }

  wake(): void {
    this.#claimAgain = true;
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined;
      if (this.#claimAgain) this.wake();
    });
  }

  isAtWork(id: string): boolean {
    return this.#working.has(id);
  }

  async stopClaiming(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    await this.#claiming;
  }

  /** Aborts attempts that take too long. Another service works on the rest, or this one after its next start. */
  async close(): Promise<void> {
    const late = setTimeout(() => this.#aborting.abort(), this.#parts.pace.closeMilliseconds);
    await this.stopClaiming();
    await Promise.all(this.#working.values());
    clearTimeout(late);
  }

  async #claim(): Promise<void> {
    while (this.#claimAgain) {
      this.#claimAgain = false;
      try {
        while (!this.#isClosing) {
          const room = this.#parts.concurrent - this.#working.size;
          this.#isFull = room <= 0;
          const due = this.#isFull ? [] : await this.#parts.claim(room);
          for (const row of due) this.begin(row);
          if (due.length === 0) break;
        }
      } catch (error) {
        this.#parts.onError(error);
      }
    }
  }

  begin(row: Row): void {
    const id = String(row.id);
    const working = this.#parts
      .work(row, this.#aborting.signal)
      .catch(this.#parts.onError)
      .finally(() => {
        // Its next attempt may already have begun here.
        if (this.#working.get(id) === working) this.#working.delete(id);
        if (this.#isFull && !this.#isClosing) this.wake();
      });
    this.#working.set(id, working);
  }
}
