/** Maximum number of texts whose keys a form remembers. */
const MAX_KEYS = 20;

/**
 * Idempotency keys of one form. A sent text keeps its key, so a double click, a retry and the curl command are one operation; another
 * text is another request. A newly opened form starts with a new key.
 */
export class SubmissionKey {
  #next = newKey();
  readonly #sent = new Map<string, string>();

  /** The key for this text. */
  of(text: string): string {
    return this.#sent.get(text) ?? this.#next;
  }

  /** The same, for a request that is sent now. */
  sent(text: string): string {
    const key = this.of(text);
    if (key !== this.#next) return key;
    this.#sent.set(text, key);
    this.#next = newKey();
    if (this.#sent.size > MAX_KEYS) this.#sent.delete(this.#sent.keys().next().value!);
    return key;
  }

  /** Uses new keys, also for texts that were already sent. */
  renew(): void {
    this.#sent.clear();
    this.#next = newKey();
  }
}

/** 128 random bits. Not crypto.randomUUID, which pages over plain http lack. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
