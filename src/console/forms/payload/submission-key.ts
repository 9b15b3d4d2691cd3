/** Texts whose keys a form remembers. */
const REMEMBERED = 20;

/**
 * Idempotency keys of one form. A text that was sent keeps its key, so a double click, a retry and the curl line are one
 * operation; another text is another request. A form that is opened anew begins with a new key.
 */
export class SubmissionKey {
  #next = newKey();
  readonly #sent = new Map<string, string>();

  /** The key for this text. */
  of(text: string): string {
    return this.#sent.get(text) ?? this.#next;
  }

  /** The same, for a request that goes out now. */
  sent(text: string): string {
    const key = this.of(text);
    if (key !== this.#next) return key;
    this.#sent.set(text, key);
    this.#next = newKey();
    if (this.#sent.size > REMEMBERED) this.#sent.delete(this.#sent.keys().next().value!);
    return key;
  }

  /** Takes other keys, also for texts that were sent. */
  renew(): void {
    this.#sent.clear();
    this.#next = newKey();
  }
}

/** 128 random bits. Not crypto.randomUUID, which a page over plain http lacks. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
