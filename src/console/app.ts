import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { MucastApiError, MucastClient, type QueueView } from "../client/index.ts";
import { countedRows } from "../view/figures.ts";
import { h, html } from "../view/html.ts";
import { bdi, code } from "../view/text.ts";
import { discardDrafts, SessionLost } from "./forms/kept-drafts.ts";
import { uploadFetch } from "./inputs/upload-fetch.ts";
import { errorBox } from "./problem.ts";
import { type Address, addressOf, LINKS } from "./routes.ts";
import { pause, ServiceLink } from "./service-link.ts";
import { Credentials, PAGE } from "./session.ts";
import { SignIn } from "./sign-in.ts";
import { THIS_VIEW, type ViewContext, VisibleView } from "./view.ts";

const REFUSED =
  "The service no longer accepts this key or token: it was revoked or has expired. Sign in again.";
const READ_ONLY =
  "this needs a key or token with the write scope. Yours has only the read scope, so you can view operations, reports and outputs.";

const credentials = new Credentials();

/** The sign-in if the service needs credentials and there are none, otherwise the console. */
export function App(): VNode {
  const [token, setToken] = useState(PAGE.auth === "none" ? undefined : credentials.token);
  const [message, setMessage] = useState<string>();
  if (PAGE.auth !== "none" && token === undefined) {
    const onSignedIn = (given: string, isStored: boolean) => {
      credentials.keep(given, isStored);
      setToken(given);
    };
    return h(SignIn, { message, onSignedIn });
  }
  const onEnd = (reason?: string) => {
    credentials.forget();
    setMessage(reason);
    setToken(undefined);
  };
  return h(Session, { token, onEnd });
}

interface SessionProps {
  /** The key or token; undefined if the service needs none. */
  readonly token: string | undefined;
  /** @param reason why, if the reader has not asked for it. */
  onEnd(reason?: string): void;
}

/** The frame around every view: navigation, notices, and the view that the address names. */
function Session({ token, onEnd }: SessionProps): VNode {
  const [downSince, setDownSince] = useState<Date>();
  const [{ signal, end, link, client }] = useState(() => openSession(token, onEnd, setDownSince));
  const gauge = useGauge(client, link, signal);
  const [address, setAddress] = useState(() => ({ ...addressOf(location.hash), number: 0 }));
  const [title, setTitle] = useState(address.route.title);
  const notices = useNotices();
  const heading = useRef<HTMLHeadingElement>(null);
  // At once: the address may change before the first view is painted.
  useLayoutEffect(() => {
    const show = () => {
      const next = addressOf(location.hash);
      notices.age();
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
  const contextOf = (left: AbortSignal): ViewContext => ({
    client,
    baseUrl: PAGE.baseUrl,
    hasCredentials: token !== undefined,
    mayWrite: gauge.queue!.scopes.includes("write"),
    params: address.params,
    signal: left,
    queue: () => gauge.latest.current!,
    up: () => link.up(left),
    setTitle,
    navigate: (to) => location.assign(to),
    notify: notices.add,
    statusChanged: ({ id, finished_at }) => {
      gauge.refresh();
      if (finished_at !== null) notices.removeAbout(id);
    },
  });
  // The address names the view, so the link to the content cannot have its own address.
  const skip = (event: Event) => {
    event.preventDefault();
    heading.current!.focus();
  };
  const view =
    gauge.refusal !== undefined
      ? errorBox(gauge.refusal)
      : gauge.queue === undefined
        ? html`<div aria-busy="true" />`
        : h(Visit, { key: address.number, address, session: signal, contextOf });
  return html`
    <a href="#main" class="skip" onClick=${skip}>Skip to content</a>
    <header>
      <a href="#/operations" class="name" title=${`mucast ${PAGE.version}`}>mucast</a>
      <nav aria-label="Views">${LINKS.map(
        (each) =>
          html`<a href=${each.address} aria-current=${each.address === address.link ? "page" : undefined}>${each.words}</a>`,
      )}</nav>
      <p class="gauge">${gaugeWords(gauge, token !== undefined)}</p>
      <p class="session"><a href="docs">Docs</a>
        ${token !== undefined && html`<button type="button" class="plain" onClick=${() => end()}>Sign out</button>`}
      </p>
    </header>
    <div class="offline" role="status">${downSince !== undefined && html`<p>${offlineWords(downSince)}</p>`}</div>
    <main id="main">
      <div class="notices" role="status">${notices.elements}</div>
      <h1 tabindex="-1" ref=${heading}>${title}</h1>
      <div class="view">${view}</div>
    </main>`;
}

function openSession(
  token: string | undefined,
  onEnd: SessionProps["onEnd"],
  onChange: (downSince: Date | undefined) => void,
) {
  const ended = new AbortController();
  const { signal } = ended;
  const end = (reason?: string) => {
    if (signal.aborted) return;
    if (reason === undefined) discardDrafts();
    ended.abort(reason === undefined ? undefined : new SessionLost(reason));
    onEnd(reason);
  };
  const probeUrl = `${PAGE.baseUrl}healthz`;
  const link = new ServiceLink({
    fetch: uploadFetch,
    probeUrl,
    signal,
    onRefused: () => end(REFUSED),
    onChange,
  });
  const key = token === undefined ? {} : { apiKey: token };
  return {
    signal,
    end,
    link,
    client: new MucastClient({ baseUrl: PAGE.baseUrl, fetch: link.fetch, ...key }),
  };
}

interface VisitProps {
  readonly address: Address;
  readonly session: AbortSignal;
  contextOf(left: AbortSignal): ViewContext;
}

/** The view of one address, until the reader leaves it. */
function Visit({ address: { route }, session, contextOf }: VisitProps): VNode {
  const [{ left, context }] = useState(() => {
    const left = new AbortController();
    return { left, context: contextOf(AbortSignal.any([session, left.signal])) };
  });
  useEffect(() => () => left.abort(), []);
  if (route.isWriting && !context.mayWrite) return html`<p class="hint">${route.title}: ${READ_ONLY}</p>`;
  return h(VisibleView.Provider, { value: context, children: h(route.view, {}) });
}

function offlineWords(since: Date): string {
  const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" }).format(since);
  return `Offline since ${clock}: the service does not respond. This page shows the state at that time. The console reconnects by itself.`;
}

interface Notice {
  readonly key: number;
  readonly message: string;
  readonly kind: "done" | "failed";
  readonly about: string | undefined;
  readonly isRead: boolean;
}

const MAX_NOTICES = 3;

/** A notice stays until the reader dismisses it or has left two views, or until the operation that it is about has ended. */
function useNotices() {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const made = useRef(0);
  const removeIf = (isGone: (notice: Notice) => boolean) =>
    setNotices((all) => all.filter((each) => !isGone(each)));
  return {
    elements: notices.map(
      ({ key, message, kind }) => html`<p key=${key} class=${`notice ${kind}`}>${bdi(message, 1_000)}${" "}
        <button type="button" class="plain" onClick=${() => removeIf((each) => each.key === key)}>Dismiss</button></p>`,
    ),
    add: (message: string, kind: Notice["kind"] = "done", about?: string) => {
      made.current += 1;
      const notice = { key: made.current, message, kind, about, isRead: false };
      setNotices((all) => [...all, notice].slice(-MAX_NOTICES));
    },
    removeAbout: (id: string) => removeIf(({ about }) => about === id),
    /** Called when the view changes: a notice from the previous view is still visible in the next one, unless it is about that view. */
    age: () =>
      setNotices((all) =>
        all.flatMap((each) => (each.isRead || each.about === THIS_VIEW ? [] : [{ ...each, isRead: true }])),
      ),
  };
}

const BETWEEN_MS = 5_000;
/** After this long, the service has freed the cores of an operation that has ended. */
const SETTLED_MS = 1_000;
/** A request that waits this long counts as unanswered. */
const SILENCE_MS = 10_000;

interface Busyness {
  readonly queue?: QueueView;
  /** Why the service does not tell whether anything may be shown. */
  readonly refusal?: MucastApiError;
  /** Why the queue cannot be read now. */
  readonly fault?: MucastApiError;
}

/** How busy the service is, polled every five seconds while the page is visible, and when the view has seen a change. */
function useGauge(client: MucastClient, link: ServiceLink, signal: AbortSignal) {
  const [state, setState] = useState<Busyness>({});
  const latest = useRef<QueueView>(undefined);
  const refresh = useRef<() => void>(() => undefined);
  useEffect(() => {
    let wake = new AbortController();
    let hasChanged = false;
    refresh.current = () => {
      hasChanged = true;
      wake.abort();
    };
    document.addEventListener("visibilitychange", () => document.hidden || refresh.current(), { signal });
    const ask = async () => {
      const silence = AbortSignal.timeout(SILENCE_MS);
      try {
        const queue = await client.getQueue({ signal: AbortSignal.any([signal, silence]) });
        latest.current = queue;
        setState({ queue });
      } catch (error) {
        if (silence.aborted) link.lost();
        if (!(error instanceof MucastApiError)) return;
        setState(
          error.status < 500 && latest.current === undefined
            ? { refusal: error }
            : (now) => ({ ...now, fault: error }),
        );
      }
    };
    const follow = async () => {
      while (!signal.aborted) {
        if (!document.hidden) await ask();
        const wait = hasChanged ? SETTLED_MS : BETWEEN_MS;
        hasChanged = false;
        wake = new AbortController();
        await pause(wait, AbortSignal.any([signal, wake.signal]));
      }
    };
    void follow();
  }, []);
  return { ...state, latest, refresh: () => refresh.current() };
}

function gaugeWords({ queue, fault }: Busyness, hasCallers: boolean): VNode | undefined {
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
