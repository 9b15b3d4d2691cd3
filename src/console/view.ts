import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { MucastClient, OperationView, QueueView } from "../client/index.ts";

/** What a sentence is about that no other view should show. */
export const THIS_VIEW = "this view";

/** What a view gets from the frame. */
export interface ViewContext {
  /**
   * Sends requests with the credentials of the session. The frame sees the answers: it says if the service is away or refuses the
   * key.
   */
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
  /** How busy the service is, at most a few seconds old. */
  queue(): QueueView;
  /** Resolves when the service responds. @throws the reason of `signal`. */
  up(): Promise<void>;
  /** Changes the heading and the title of the page. */
  setTitle(title: string): void;
  /** Shows another view, such as `#/operations/<id>`. */
  navigate(address: string): void;
  /**
   * Shows one sentence above the view about what was done or failed; a screen reader announces it.
   * @param about the id of an operation: when it has ended, the sentence is no longer true, and goes. THIS_VIEW: it goes with the view.
   */
  notify(message: string, kind?: "done" | "failed", about?: string): void;
  /** Tells the frame that the view has seen another status of an operation: the gauge and the notices follow. */
  statusChanged(operation: OperationView): void;
}

/**
 * Fills an empty container. While it awaits something, the view is loading. If it throws an error, the error is shown in its place,
 * with advice.
 */
export type View = (container: HTMLElement, context: ViewContext) => void | Promise<void>;

export interface ViewRoute {
  readonly title: string;
  readonly view: View;
  /** Whether it is useless for a caller with read-only access; then the frame says so instead. */
  readonly isWriting?: true;
}

export const VisibleView = createContext<ViewContext | undefined>(undefined);

/** What the frame gives to the view that a component belongs to. */
export function useView(): ViewContext {
  return useContext(VisibleView)!;
}
