import type { SubmittedOperation } from "../../../contract/config/job-operations.ts";
import { MAX_JSON_DEPTH, type RawJson, rawNumbersOf, scanJson } from "../../../contract/json/json-text.ts";
import {
  isObject,
  type Path,
  treeText,
  valueAt,
  withInvisibleEscaped,
  withoutEmpty,
  withValue,
} from "../fields/payload-tree.ts";

/** The config of a payload is one level down. */
const MAX_PAYLOAD_DEPTH = MAX_JSON_DEPTH + 1;

/**
 * A payload while a form edits it: the text that is shown and sent, and the tree that the fields show. A payload member that no field
 * has changed keeps its text byte for byte, since outputs record the digest of a config's text.
 */
export class PayloadDraft {
  #text = "{}";
  #tree: RawJson = {};
  #fault: string | undefined;
  /** The members of the payload as they were written. */
  #written = new Map<string, { readonly value: RawJson; readonly text: string }>();
  readonly #prunable: readonly Path[];

  /** @param prunable paths of objects for which empty means the same as omitted. */
  constructor(prunable: readonly Path[] = []) {
    this.#prunable = prunable;
  }

  /** The text to send. */
  get text(): string {
    return this.#text;
  }

  /** The last text that was valid JSON. */
  get tree(): RawJson {
    return this.#tree;
  }

  /** Why the text is not JSON that can be sent. */
  get fault(): string | undefined {
    return this.#fault;
  }

  valueAt(path: Path): RawJson | undefined {
    return valueAt(this.#tree, path);
  }

  /** Sets the text as typed. */
  write(typed: string): void {
    const text = withInvisibleEscaped(typed);
    this.#text = text;
    const read = readPayload(text);
    this.#fault = "fault" in read ? read.fault : undefined;
    if ("fault" in read) return;
    this.#tree = read.tree;
    this.#written = read.written;
  }

  /** Changes one member. @param value undefined omits it. @param json how the reader has written a member of the payload itself. */
  set(path: Path, value: RawJson | undefined, json?: string): void {
    const [key] = path;
    if (path.length === 1 && value !== undefined && json !== undefined) {
      this.#written.set(key!, { value, text: withInvisibleEscaped(json.trim()) });
    }
    this.#tree = withoutEmpty(withValue(this.#tree, path, value), this.#prunable);
    this.#text = this.#print();
    this.#fault = undefined;
  }

  #print(): string {
    if (!isObject(this.#tree)) return treeText(this.#tree);
    const members = Object.entries(this.#tree).map(([key, value]) => {
      const written = this.#written.get(key);
      const text =
        written !== undefined && written.value === value ? written.text : indented(treeText(value));
      return `  ${withInvisibleEscaped(JSON.stringify(key))}: ${text}`;
    });
    return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n}`;
  }
}

function indented(text: string): string {
  return text.replaceAll("\n", "\n  ");
}

type ReadPayload =
  | { readonly fault: string }
  | {
      readonly tree: RawJson;
      readonly written: Map<string, { readonly value: RawJson; readonly text: string }>;
    };

function readPayload(text: string): ReadPayload {
  try {
    const texts = new Map<string, string>();
    const twice = scanJson(text, "payload", MAX_PAYLOAD_DEPTH, texts);
    if (twice.length > 0) return { fault: twice.map(({ message }) => message).join("; ") };
    const tree = rawNumbersOf(text) as RawJson;
    const members = isObject(tree) ? tree : {};
    const written = [...texts].map(([key, own]) => [key, { value: members[key]!, text: own }] as const);
    return { tree, written: new Map(written) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

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
