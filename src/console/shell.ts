import { MucastClient } from "../client/index.ts";
import { element, fill } from "./dom.ts";
import { discardDrafts, SessionLost } from "./forms/payload/payload-draft.ts";
import { Gauge } from "./gauge.ts";
import { errorBox } from "./problem.ts";
import { type Address, addressOf, LINKS } from "./routes.ts";
import { ServiceLink } from "./service-link.ts";
import { PAGE } from "./session.ts";
import { THIS_VIEW, type ViewContext, type ViewRoute } from "./view.ts";
import { clock, textElement } from "./words.ts";

interface ShellOptions {
  /** The key or token of the session; undefined if the service needs none. */
  readonly token: string | undefined;
  /** Sends every request. */
  readonly fetch: typeof fetch;
  /** @param reason why, if the reader has not asked for it. */
  onSignOut(reason?: string): void;
}

const REFUSED =
  "The service no longer accepts this key or token: it was revoked or has expired. Sign in again.";

/** The frame around every view: navigation, notices, and the view that the address names. It ends with the session. */
export function showShell({ token, fetch, onSignOut }: ShellOptions): void {
  const ended = new AbortController();
  const { signal } = ended;
  const end = (reason?: string): void => {
    if (signal.aborted) return;
    if (reason === undefined) discardDrafts();
    ended.abort(reason === undefined ? undefined : new SessionLost(reason));
    onSignOut(reason);
  };
  const link = new ServiceLink({
    fetch,
    probeUrl: `${PAGE.baseUrl}healthz`,
    signal,
    onRefused: () => end(REFUSED),
  });
  const hasCredentials = token !== undefined;
  const client = new MucastClient({
    baseUrl: PAGE.baseUrl,
    fetch: link.fetch,
    ...(hasCredentials ? { apiKey: token } : {}),
  });
  const gauge = new Gauge({ client, link, signal, hasCredentials });
  const frame = new Frame({ client, link, gauge, hasCredentials, signal }, () => end());
  addEventListener("hashchange", () => frame.show(), { signal });
  signal.addEventListener("abort", () => frame.leave(signal.reason));
  frame.show();
}

interface FrameParts {
  readonly client: MucastClient;
  readonly link: ServiceLink;
  readonly gauge: Gauge;
  readonly hasCredentials: boolean;
  /** Aborts at the end of the session. */
  readonly signal: AbortSignal;
}

class Frame {
  readonly #parts: FrameParts;
  readonly #notices = new Notices();
  readonly #heading = element("h1", { tabindex: "-1" });
  readonly #view = element("div", { class: "view" });
  readonly #links = LINKS.map(({ address, words }) => element("a", { href: address }, words));
  #left = new AbortController();
  #hasShown = false;

  constructor(parts: FrameParts, onSignOut: () => void) {
    this.#parts = parts;
    const { link, gauge, hasCredentials } = parts;
    fill(
      document.body,
      element(
        "a",
        { href: "#main", class: "skip", onclick: (event) => this.#skip(event) },
        "Skip to content",
      ),
      element(
        "header",
        {},
        element("a", { href: "#/operations", class: "name", title: `mucast ${PAGE.version}` }, "mucast"),
        element("nav", { "aria-label": "Views" }, ...this.#links),
        gauge.element,
        element(
          "p",
          { class: "session" },
          element("a", { href: "docs" }, "Docs"),
          hasCredentials &&
            element("button", { type: "button", class: "plain", onclick: onSignOut }, "Sign out"),
        ),
      ),
      new OfflineBanner(link, parts.signal).element,
      element("main", { id: "main" }, this.#notices.element, this.#heading, this.#view),
    );
  }

  /** Shows the view that the address names. */
  show(): void {
    this.leave();
    this.#left = new AbortController();
    const address = addressOf(location.hash);
    this.#notices.age();
    this.#setTitle(address.route.title);
    for (const each of this.#links) {
      if (each.getAttribute("href") === address.link) each.setAttribute("aria-current", "page");
      else each.removeAttribute("aria-current");
    }
    const container = element("div");
    fill(this.#view, container);
    // The first view keeps the focus where the browser has put it.
    if (this.#hasShown) {
      this.#heading.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    this.#hasShown = true;
    void this.#fill(container, address, this.#left.signal);
  }

  /** Ends the pending work of the view. @param reason of a lost session. */
  leave(reason?: unknown): void {
    this.#left.abort(reason);
  }

  async #fill(container: HTMLElement, { route, params }: Address, signal: AbortSignal): Promise<void> {
    container.setAttribute("aria-busy", "true");
    try {
      const mayWrite = (await this.#parts.gauge.first).scopes.includes("write");
      if (signal.aborted) return;
      if (route.isWriting && !mayWrite) fill(container, readOnly(route));
      else await route.view(container, this.#contextOf(params, mayWrite, signal));
    } catch (error) {
      if (!signal.aborted) fill(container, errorBox(error));
    } finally {
      container.removeAttribute("aria-busy");
    }
  }

  #contextOf(params: URLSearchParams, mayWrite: boolean, signal: AbortSignal): ViewContext {
    const { client, link, gauge, hasCredentials } = this.#parts;
    return {
      client,
      baseUrl: PAGE.baseUrl,
      hasCredentials,
      mayWrite,
      params,
      signal,
      queue: () => gauge.queue,
      up: () => link.up(signal),
      setTitle: (title) => this.#setTitle(title),
      navigate: (address) => location.assign(address),
      notify: (message, kind = "done", about) => this.#notices.add(message, kind, about),
      statusChanged: ({ id, finished_at }) => {
        gauge.refresh();
        if (finished_at !== null) this.#notices.removeAbout(id);
      },
    };
  }

  #setTitle(title: string): void {
    fill(this.#heading, title);
    document.title = `${title} \u00b7 mucast`;
  }

  /** The address names the view, so the link to the content cannot have its own address. */
  #skip(event: Event): void {
    event.preventDefault();
    this.#heading.focus();
  }
}

function readOnly({ title }: ViewRoute): HTMLElement {
  return element(
    "p",
    { class: "hint" },
    `${title}: this needs a key or token with the write scope. Yours has only the read scope, so you can view operations, reports and outputs.`,
  );
}

const MAX_NOTICES = 3;

/**
 * Sentences above the view about what was done or failed. A notice stays until the reader dismisses it or has left two views, or until the
 * operation that it is about has ended.
 */
class Notices {
  readonly element = element("div", { class: "notices", role: "status" });

  /** @param about the id of an operation, or THIS_VIEW. */
  add(message: string, kind: "done" | "failed", about: string | undefined): void {
    const attributes = { class: `notice ${kind}`, "data-about": about };
    const notice = element("p", attributes, textElement(message, 1_000), " ");
    notice.append(
      element("button", { type: "button", class: "plain", onclick: () => notice.remove() }, "Dismiss"),
    );
    this.element.append(notice);
    while (this.element.childElementCount > MAX_NOTICES) this.element.firstElementChild!.remove();
  }

  removeAbout(id: string): void {
    for (const notice of this.#all()) if (notice.dataset.about === id) notice.remove();
  }

  /** Called when the view changes: a notice from the previous view is still visible in the next one, unless it is about that view. */
  age(): void {
    for (const notice of this.#all()) {
      if (notice.dataset.read !== undefined || notice.dataset.about === THIS_VIEW) notice.remove();
      else notice.dataset.read = "";
    }
  }

  #all(): HTMLElement[] {
    return [...this.element.children] as HTMLElement[];
  }
}

/** Says that the service does not respond, and since when; empty while it responds. */
class OfflineBanner {
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
