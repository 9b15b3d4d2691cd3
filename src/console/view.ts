import { createContext, type FunctionComponent, type VNode } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { MucastApiError, type MucastClient, type Problem } from "../client/index.ts";
import { html } from "../view/html.ts";
import { bdi, code, prose } from "../view/text.ts";

/** What a view gets from the frame. */
export interface ViewContext {
  /** Sends requests with the credentials of the session. The frame says if the service is away or refuses the key. */
  readonly client: MucastClient;
  /** The address of the service with a trailing slash, such as `http://127.0.0.1:8080/`. */
  readonly baseUrl: string;
  /** Whether requests need a key or a token. */
  readonly hasCredentials: boolean;
  /** Whether the credentials allow submitting, cancelling, uploading and removing. */
  readonly mayWrite: boolean;
  /** The part after `?` in the view's address, such as `output=…` in `#/replay?output=…`. */
  readonly params: URLSearchParams;
  /** Aborts when the reader leaves the view: pass it to every request, stream and timer. */
  readonly signal: AbortSignal;
  /** Changes the heading and the title of the page. */
  setTitle(title: string): void;
  /** Shows another view, such as `#/operations/<id>`. */
  navigate(address: string): void;
  /** Shows one sentence above the view about what was done or failed, until another one or another view; a screen reader announces it. */
  notify(message: string, kind?: "done" | "failed"): void;
}

export interface ViewRoute {
  readonly title: string;
  readonly view: FunctionComponent;
  /** Whether it is useless for a caller with read-only access; then the frame says so instead. */
  readonly isWriting?: true;
}

export const VisibleView = createContext<ViewContext | undefined>(undefined);

/** What the frame gives to the view that a component belongs to. */
export function useView(): ViewContext {
  return useContext(VisibleView)!;
}

interface LoadedProps<T> {
  /** Called once. */
  read(): Promise<T>;
  show(value: T): VNode;
}

/** Shows what `read` has read, or why it could not, with advice. */
export function Loaded<T>({ read, show }: LoadedProps<T>): VNode {
  const { signal } = useView();
  const [answer, setAnswer] = useState<{ readonly value: T } | { readonly error: unknown }>();
  useEffect(() => {
    read().then(
      (value) => setAnswer({ value }),
      (error: unknown) => void (signal.aborted || setAnswer({ error })),
    );
  }, []);
  if (answer === undefined) return html`<div aria-busy="true" />`;
  return "error" in answer ? errorBox(answer.error) : show(answer.value);
}

/**
 * What a button does, once at a time.
 * @param failed the first sentence of the notice if it fails.
 */
export function useAction(
  failed: string,
  act: () => Promise<void>,
): { readonly isBusy: boolean; run(): void } {
  const { notify, signal } = useView();
  const [isBusy, setBusy] = useState(false);
  const run = () => {
    if (isBusy) return;
    setBusy(true);
    act()
      .catch((error: unknown) => void (signal.aborted || notify(`${failed} ${errorWords(error)}`, "failed")))
      .finally(() => setBusy(false));
  };
  return { isBusy, run };
}

/** A problem in words: what is wrong, its faults, and what to do. */
export function problemBox(
  { title, detail, advice, code: name, faults = [] }: Problem,
  role?: "alert",
): VNode {
  return html`<div class="problem" role=${role}>
    <p class="failed"><strong>${bdi(title ?? name, 200)}</strong> ${code(name)}</p>
    <p>${prose(detail, 2_000)}</p>
    ${faults.length > 0 && html`<ul>${faults.map(({ path, message }) => html`<li>${code(path)} ${bdi(message, 500)}</li>`)}</ul>`}
    <p><strong>What to do:</strong> ${prose(advice, 1_000)}</p>
  </div>`;
}

/** The message of an error for a reader, in one or two sentences. */
export function errorWords(error: unknown): string {
  if (error instanceof MucastApiError) {
    const { detail, advice } = error.problem;
    return `${/[.!?]$/.test(detail) ? detail : `${detail}.`} ${advice}`;
  }
  return error instanceof TypeError ? `The service does not respond: ${error.message}.` : String(error);
}

/** An error in place of what could not be shown. */
export function errorBox(error: unknown): VNode {
  if (error instanceof MucastApiError) return problemBox(error.problem, "alert");
  return html`<p class="failed" role="alert">${bdi(errorWords(error), 500)}</p>`;
}
