import type { StatusBlob } from "../../contract/status-blob.ts";
import type { ExecutionListener } from "../executor.ts";

/** Tells a listener what is new in an attempt's status blob since it was last read. */
export class StatusNews {
  readonly #listener: ExecutionListener;
  readonly #warned = new Set<string>();
  #progress = "";

  constructor(listener: ExecutionListener) {
    this.#listener = listener;
  }

  tell(status: StatusBlob | undefined): void {
    if (status === undefined) return;
    for (const warning of status.warnings) {
      const text = JSON.stringify(warning);
      if (this.#warned.has(text)) continue;
      this.#warned.add(text);
      this.#listener.onEvent({ kind: "warning", warning });
    }
    const progress = JSON.stringify(status.progress);
    if (status.progress === null || progress === this.#progress) return;
    this.#progress = progress;
    const { stage, done, total } = status.progress;
    this.#listener.onEvent({ kind: "progress", stage, done, ...(total === null ? {} : { total }) });
  }

  /** At the end, whatever it was. */
  tellTimings(status: StatusBlob | undefined): void {
    if (status !== undefined) this.#listener.onTimings(status.timings);
  }
}
