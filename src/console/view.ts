import type { MucastClient, QueueView } from "../client/index.ts";

/** What a view gets from the frame. */
export interface ViewContext {
  /** Sends the credentials of the session. The frame sees its answers: it says when the service is away, or refuses the key. */
  readonly client: MucastClient;
  /** Where the service is, with a slash at the end, such as `http://127.0.0.1:8080/`. */
  readonly baseUrl: string;
  /** Whether requests need a key or a token. */
  readonly hasCredentials: boolean;
  /** Whether the credentials may submit, cancel, upload and remove. */
  readonly mayWrite: boolean;
  /** What stands behind the `?` of the view's address, such as `output=…` of `#/replay?output=…`. */
  readonly params: URLSearchParams;
  /** Aborts once the reader leaves the view: give it to every request, stream and timer. */
  readonly signal: AbortSignal;
  /** How busy the service is, as of a few seconds ago. */
  queue(): QueueView;
  /** Settles while the service answers, or once it does again. @throws the reason of `signal`. */
  up(): Promise<void>;
  /** Changes the heading and the title of the page. */
  entitle(title: string): void;
  /** Shows another view, such as `#/operations/<id>`. */
  navigate(address: string): void;
  /** Says in one sentence, above the view, that something was done or failed; a screen reader says it too. */
  notify(message: string, kind?: "done" | "failed"): void;
}

/**
 * Fills an empty container. What it awaits before it returns is the view's loading; an error that it throws is shown in its
 * place, with its advice.
 */
export type View = (container: HTMLElement, context: ViewContext) => void | Promise<void>;

/** A view with its heading. */
export interface ViewRoute {
  readonly title: string;
  readonly view: View;
  /** Whether it does nothing for a caller that may only read; then the frame says so in its place. */
  readonly isWriting?: true;
}
