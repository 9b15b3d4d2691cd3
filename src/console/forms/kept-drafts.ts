import { useEffect, useRef } from "preact/hooks";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";

/** A session that ended although the reader did not ask for it: the reason of its signal. */
export class SessionLost extends Error {}

/** Unsent texts of readers who lost their session, in the memory of the page. */
const kept = new Map<SubmittedOperation, string>();

/** Keeps the text of a form if the reader has changed it when the session is lost. @param signal of the view. */
export function useKeptDraft(operation: SubmittedOperation, text: string, signal: AbortSignal): void {
  const first = useRef(text);
  const latest = useRef(text);
  latest.current = text;
  useEffect(() => {
    const onAbort = () => {
      if (signal.reason instanceof SessionLost && latest.current !== first.current)
        kept.set(operation, latest.current);
    };
    signal.addEventListener("abort", onAbort);
    return () => signal.removeEventListener("abort", onAbort);
  }, []);
}

export function hasDraft(operation: SubmittedOperation): boolean {
  return kept.has(operation);
}

/** @returns the kept text of the operation's form, once, and says so. */
export function takeDraft(
  operation: SubmittedOperation,
  notify: (message: string) => void,
): string | undefined {
  const text = kept.get(operation);
  if (text !== undefined) notify("The form contains what you had entered when your session ended.");
  kept.delete(operation);
  return text;
}

/** Called when the reader signs out, because another person may sign in next. */
export function discardDrafts(): void {
  kept.clear();
}
