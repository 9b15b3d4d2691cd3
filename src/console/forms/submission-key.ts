/**
 * Idempotency keys of one form. The same text keeps its key, so a double click, a retry and the curl line are one operation;
 * another text is another request. A form that is opened anew begins with a new key.
 */
export class SubmissionKey {
  #key = newKey();
  #sent: string | undefined;

  /** The key for this text. */
  of(text: string): string {
    if (this.#sent !== undefined && this.#sent !== text) {
      this.#key = newKey();
      this.#sent = undefined;
    }
    return this.#key;
  }

  /** Says that a request with this text has gone out under its key. */
  sent(text: string): string {
    const key = this.of(text);
    this.#sent = text;
    return key;
  }
}

/** 128 random bits. Not crypto.randomUUID, which a page over plain http lacks. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
