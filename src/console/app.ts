import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { MucastApiError, QueueView } from "../client/index.ts";
import { countedRows } from "../view/figures.ts";
import { h, html } from "../view/html.ts";
import { bdi, code } from "../view/text.ts";
import { lostDrafts } from "./forms/payload-form.ts";
import { type FormName, SubmitForm } from "./forms/submit-form.ts";
import { UploadForm } from "./inputs/data-section.ts";
import { OperationList } from "./list/operation-list.ts";
import { RunView } from "./run/run-view.ts";
import { PAGE, storedToken, storeToken, useService } from "./service.ts";
import { SignIn } from "./sign-in.ts";
import { errorBox, type ViewContext, type ViewRoute, VisibleView } from "./view.ts";

const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const READ_ONLY =
  "this needs a key or token with the write scope. Yours has only the read scope, so you can view operations, reports and outputs.";

/** The sign-in if the service needs credentials and there are none, otherwise the console. */
export function App(): VNode {
  const [token, setToken] = useState(PAGE.auth === "none" ? undefined : storedToken());
  const [message, setMessage] = useState<string>();
  if (PAGE.auth !== "none" && token === undefined) {
    const onSignedIn = (given: string, isStored: boolean) => {
      storeToken(isStored ? given : undefined);
      setToken(given);
    };
    return h(SignIn, { message, onSignedIn });
  }
  const onEnd = (reason?: string) => {
    // Another person may sign in next.
    if (reason === undefined) lostDrafts.clear();
    storeToken(undefined);
    setMessage(reason);
    setToken(undefined);
  };
  return h(Session, { token, onEnd });
}

interface SessionProps {
  /** The key or token; undefined if the service needs none. */
  readonly token: string | undefined;
  onEnd(reason?: string): void;
}

/** The frame around every view: navigation, a notice, and the view that the address names. */
function Session({ token, onEnd }: SessionProps): VNode {
  const { client, signal, end, downSince, queue, fault } = useService(token, onEnd);
  const [address, setAddress] = useState(() => ({ ...addressOf(location.hash), number: 0 }));
  const [title, setTitle] = useState(address.route.title);
  const [notice, setNotice] = useState<{ readonly message: string; readonly kind: string }>();
  const heading = useRef<HTMLHeadingElement>(null);
  // At once: the address may change before the first view is painted.
  useLayoutEffect(() => {
    const show = () => {
      const next = addressOf(location.hash);
      setNotice(undefined);
      setTitle(next.route.title);
      setAddress(({ number }) => ({ ...next, number: number + 1 }));
    };
    addEventListener("hashchange", show, { signal });
  }, []);
  useEffect(() => {
    document.title = `${title} \u00b7 mucast`;
  }, [title]);
  useLayoutEffect(() => {
    // The first view keeps the focus where the browser has put it.
    if (address.number === 0) return;
    heading.current!.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [address.number]);
  const visit = useMemo(() => new AbortController(), [address.number]);
  useEffect(() => () => visit.abort(), [visit]);
  const { route, params } = address;
  const mayWrite = queue?.scopes.includes("write") ?? false;
  const context = useMemo(
    (): ViewContext => ({
      client,
      baseUrl: PAGE.baseUrl,
      hasCredentials: token !== undefined,
      mayWrite,
      params,
      signal: AbortSignal.any([signal, visit.signal]),
      setTitle,
      navigate: (to) => location.assign(to),
      notify: (message, kind = "done") => setNotice({ message, kind }),
    }),
    [address.number, mayWrite],
  );
  const drawView = () => {
    if (queue === undefined)
      return fault !== undefined && fault.status < 500 ? errorBox(fault) : html`<div aria-busy="true" />`;
    if (route.isWriting && !mayWrite) return html`<p class="hint">${route.title}: ${READ_ONLY}</p>`;
    return h(VisibleView.Provider, { key: address.number, value: context, children: h(route.view, {}) });
  };
  // The address names the view, so the link to the content cannot have its own address.
  const skip = (event: Event) => {
    event.preventDefault();
    heading.current!.focus();
  };
  return html`
    <a href="#main" class="skip" onClick=${skip}>Skip to content</a>
    <header>
      <a href="#/operations" class="name" title=${`mucast ${PAGE.version}`}>mucast</a>
      <nav aria-label="Views">${LINKS.map(
        (each) =>
          html`<a href=${each.address} aria-current=${each.address === address.link ? "page" : undefined}>${each.words}</a>`,
      )}</nav>
      <p class="gauge">${gaugeWords(queue, fault, token !== undefined)}</p>
      <p class="session"><a href="docs">Docs</a>
        ${token !== undefined && html`<button type="button" class="plain" onClick=${() => end()}>Sign out</button>`}
      </p>
    </header>
    <div class="offline" role="status">${
      downSince !== undefined &&
      html`<p>Offline since ${CLOCK.format(downSince)}: the service does not respond. This page shows the state at that time. The
        console reconnects by itself.</p>`
    }</div>
    <main id="main">
      <div class="notices" role="status">${
        notice &&
        html`<p class=${`notice ${notice.kind}`}>${bdi(notice.message, 1_000)}${" "}
        <button type="button" class="plain" onClick=${() => setNotice(undefined)}>Dismiss</button></p>`
      }</div>
      <h1 tabindex="-1" ref=${heading}>${title}</h1>
      <div class="view">${drawView()}</div>
    </main>`;
}

function gaugeWords(
  queue: QueueView | undefined,
  fault: MucastApiError | undefined,
  hasCallers: boolean,
): VNode | undefined {
  if (fault !== undefined) return html`<span>Cannot read the queue: ${code(fault.code)}</span>`;
  if (queue === undefined) return undefined;
  const { waiting, running, own, service } = queue;
  const yours = (count: number) => (hasCallers ? ` (${count} yours)` : "");
  const words = `${running} running${yours(own.running)}, ${waiting} queued${yours(own.waiting)}`;
  if (service.cores === null) return html`<span>${words}</span>`;
  const { used, of } = service.cores;
  const cores = `${used} of ${countedRows(of, "core")} in use`;
  return html`<span>${words}</span>
    <span><meter min="0" max=${of} value=${used} aria-label="Cores in use">${cores}</meter> ${cores}</span>`;
}

const form = (name: FormName) => () => h(SubmitForm, { name });

/** Every view by its address. Views with a `link` appear in the navigation. */
const ROUTES: Readonly<Record<string, ViewRoute & { readonly link: string }>> = {
  "/operations": { title: "Operations", view: OperationList, link: "Operations" },
  "/job": { title: "Submit a job", view: form("job"), link: "New job", isWriting: true },
  "/upload": { title: "Upload inputs", view: UploadForm, link: "Upload", isWriting: true },
  "/audit": { title: "Audit the inputs of a job", view: form("audit"), link: "Audit", isWriting: true },
  "/replay": { title: "Replay an output", view: form("replay"), link: "Replay", isWriting: true },
};

const LINKS = Object.entries(ROUTES).map(([path, { link }]) => ({ address: `#${path}`, words: link }));

/** `link` is the entry of the navigation that it belongs to. @param hash such as `#/operations?status=Running`; an unknown one leads to the operations. */
export function addressOf(hash: string) {
  const [path = "", query = ""] = hash.slice(1).split("?", 2);
  const params = new URLSearchParams(query);
  const id = /^\/operations\/([\w-]{1,64})$/.exec(path)?.[1];
  if (id !== undefined) {
    params.set("id", id);
    const route: ViewRoute = { title: "Operation", view: RunView };
    return { route, link: "#/operations", params };
  }
  const found = Object.hasOwn(ROUTES, path) ? path : "/operations";
  const route: ViewRoute = ROUTES[found]!;
  return { route, link: `#${found}`, params };
}
