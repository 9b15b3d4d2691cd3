import { MucastApiError, type MucastClient, type QueueView } from "../client/index.ts";
import { element, fill } from "./dom.ts";
import { pause, type ServiceLink } from "./service-link.ts";
import { code, counted } from "./words.ts";

const BETWEEN_MS = 5_000;
/** After this long, the service has freed the cores of an operation that has ended. */
const SETTLED_MS = 1_000;
/** A request that waits this long counts as unanswered. */
const SILENCE_MS = 10_000;

interface GaugeOptions {
  readonly client: MucastClient;
  readonly link: ServiceLink;
  readonly signal: AbortSignal;
  /** Whether there may be other callers. */
  readonly hasCredentials: boolean;
}

/** How busy the service is, polled every five seconds while the page is visible, and when the view has seen a change. */
export class Gauge {
  readonly element = element("p", { class: "gauge" });
  readonly #options: GaugeOptions;
  readonly #first = Promise.withResolvers<QueueView>();
  #queue: QueueView | undefined;
  #wake = new AbortController();
  #hasChanged = false;

  constructor(options: GaugeOptions) {
    this.#options = options;
    this.#first.promise.catch(() => undefined);
    const onVisible = () => {
      if (!document.hidden) this.refresh();
    };
    document.addEventListener("visibilitychange", onVisible, { signal: options.signal });
    void this.#follow();
  }

  /** The first answer, however long that takes. @throws MucastApiError if the service refuses the request. */
  get first(): Promise<QueueView> {
    return this.#first.promise;
  }

  /** The newest answer, if there is one. */
  get queue(): QueueView {
    return this.#queue!;
  }

  /** Asks at once, and again when a change has settled. */
  refresh(): void {
    this.#hasChanged = true;
    this.#wake.abort();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      if (!document.hidden) await this.#ask();
      const wait = this.#hasChanged ? SETTLED_MS : BETWEEN_MS;
      this.#hasChanged = false;
      this.#wake = new AbortController();
      await pause(wait, AbortSignal.any([signal, this.#wake.signal]));
    }
  }

  async #ask(): Promise<void> {
    const { client, link, signal } = this.#options;
    const silence = AbortSignal.timeout(SILENCE_MS);
    try {
      this.#queue = await client.getQueue({ signal: AbortSignal.any([signal, silence]) });
      this.#first.resolve(this.#queue);
      this.#show(this.#queue);
    } catch (error) {
      if (silence.aborted) link.lost();
      if (!(error instanceof MucastApiError)) return;
      if (error.status < 500) this.#first.reject(error);
      // A view that waits for the first answer shows nothing yet, so this tells the reader why.
      else fill(this.element, element("span", {}, "Cannot read the queue: ", code(error.code)));
    }
  }

  #show({ waiting, running, own, service: { cores } }: QueueView): void {
    const yours = (count: number) => (this.#options.hasCredentials ? ` (${count} yours)` : "");
    const words = `${running} running${yours(own.running)}, ${waiting} queued${yours(own.waiting)}`;
    const used = cores === null ? undefined : `${cores.used} of ${counted(cores.of, "core")} in use`;
    fill(
      this.element,
      element("span", {}, words),
      cores !== null &&
        element(
          "span",
          {},
          element("meter", { min: 0, max: cores.of, value: cores.used, "aria-label": "Cores in use" }, used),
          ` ${used}`,
        ),
    );
  }
}
