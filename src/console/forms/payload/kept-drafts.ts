import type { SubmittedOperation } from "../../../contract/config/job-operations.ts";

/** A session that ended although the reader did not ask for it: the reason of its signal. */
export class SessionLost extends Error {}

/** Unsent texts of readers who lost their session, in the memory of the page. */
const kept = new Map<SubmittedOperation, string>();

/** Keeps the text of a form if it is visible and the reader has changed it when the session is lost. */
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

/** @returns the kept text of the operation's form, once. */
export function takeDraft(operation: SubmittedOperation): string | undefined {
  const text = kept.get(operation);
  kept.delete(operation);
  return text;
}

/** Called when the reader signs out, because another person may sign in next. */
export function discardDrafts(): void {
  kept.clear();
}
