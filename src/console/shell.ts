import { MucastApiError, type MucastClient } from "../client/index.ts";
import { element, fill } from "./dom.ts";
import { addressOf, LINKS } from "./routes.ts";
import { PAGE } from "./session.ts";
import { shown } from "./shown-text.ts";
import type { ViewContext, ViewRoute } from "./view.ts";

interface ShellOptions {
  /** @param reason why, where the reader has not asked for it. */
  onSignOut(reason?: string): void;
}

/** The frame around every view: its navigation, its notices, and the view that the address names. */
export function showShell(client: MucastClient, { onSignOut }: ShellOptions): void {
  const notices = element("div", { class: "notices", role: "status" });
  const heading = element("h1", { tabindex: "-1" });
  const view = element("div", { class: "view" });
  const links = LINKS.map(({ address, words }) => element("a", { href: address }, words));
  const leaving = new AbortController();
  const signOut = element("button", { type: "button", class: "plain" }, "Sign out");
  signOut.addEventListener("click", () => {
    leaving.abort();
    left.abort();
    onSignOut();
  });
  fill(
    document.body,
    element(
      "header",
      {},
      element("a", { href: "#/operations", class: "name" }, "mucast"),
      element("nav", { "aria-label": "Views" }, ...links),
      element("a", { href: "docs" }, "Docs"),
      PAGE.auth !== "none" && signOut,
    ),
    element("main", {}, notices, heading, view),
  );
  let left = new AbortController();
  const show = (): void => {
    left.abort();
    left = new AbortController();
    const { route, link, params } = addressOf(location.hash);
    document.title = `${route.title} \u00b7 mucast`;
    fill(heading, route.title);
    for (const each of links) {
      if (each.getAttribute("href") === link) each.setAttribute("aria-current", "page");
      else each.removeAttribute("aria-current");
    }
    const container = element("div");
    fill(view, container);
    const { signal } = left;
    const context: ViewContext = {
      client,
      baseUrl: PAGE.baseUrl,
      hasCredentials: PAGE.auth !== "none",
      mayWrite: true,
      params,
      signal,
      navigate: (address) => location.assign(address),
      notify: (message, kind = "done") => fill(notices, element("p", { class: kind }, shown(message, 500))),
    };
    void showView(route, container, context);
  };
  addEventListener("hashchange", show, { signal: leaving.signal });
  show();
}

async function showView({ view }: ViewRoute, container: HTMLElement, context: ViewContext): Promise<void> {
  try {
    await view(container, context);
  } catch (error) {
    if (context.signal.aborted) return;
    fill(container, element("p", { class: "failed", role: "alert" }, wordsOf(error)));
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof MucastApiError) return `${error.problem.detail}. ${error.problem.advice}`;
  return "The service does not answer.";
}
