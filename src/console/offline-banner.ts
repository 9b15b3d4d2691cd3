import { element, fill } from "./dom.ts";
import type { ServiceLink } from "./service-link.ts";
import { clock } from "./words.ts";

/** Says that the service does not respond, and since when; empty while it responds. */
export class OfflineBanner {
  readonly element = element("div", { class: "offline", role: "status" });

  constructor(link: ServiceLink, signal: AbortSignal) {
    link.onChange(() => this.#show(link.downSince), signal);
  }

  #show(since: Date | undefined): void {
    if (since === undefined) {
      fill(this.element);
      return;
    }
    const words = `Offline since ${clock(since)}: the service does not respond. This page shows the state at that time. The console reconnects by itself.`;
    fill(this.element, element("p", {}, words));
  }
}
