import type { SubmittedOperation } from "../../../contract/config/job-operations.ts";

/** A session that ended without the reader's wish: the reason of its signal. */
export class SessionLost extends Error {}

/** What readers were writing when they lost their session, in the memory of the page. */
const kept = new Map<SubmittedOperation, string>();

/** Keeps what a form sends, where it is shown and the reader has changed it when the session is lost. */
export function keepDraft(
  operation: SubmittedOperation,
  signal: AbortSignal,
  form: { readonly element: HTMLElement; readonly text: string },
): void {
  const initial = form.text;
  signal.addEventListener("abort", () => {
    const { element, text } = form;
    if (signal.reason instanceof SessionLost && element.isConnected && text !== initial)
      kept.set(operation, text);
  });
}

export function hasDraft(operation: SubmittedOperation): boolean {
  return kept.has(operation);
}

/** @returns what was kept of the operation's form, once. */
export function takeDraft(operation: SubmittedOperation): string | undefined {
  const text = kept.get(operation);
  kept.delete(operation);
  return text;
}

/** When the reader signs out: another person may sign in next. */
export function dropDrafts(): void {
  kept.clear();
}
