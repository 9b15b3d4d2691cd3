import { createHash } from "node:crypto";
import { LOCAL_SUBJECT } from "../auth/authenticate.ts";

/** Tokens that are remembered; the one that was good longest ago is forgotten for a new one. */
const MOST_TOKENS = 20_000;

/**
 * Whose the tokens were that were good a short while ago, by their SHA-256. It lets no caller in: each token is checked at each
 * request. It tells which tries need no limit of their own, and as whom they are counted before they are checked.
 */
export class KnownTokens {
  readonly #most: number;
  readonly #operators: string | undefined;
  readonly #subjects = new Map<string, string>();

  /** @param operatorsToken of the lock file: always known, as checking it costs nothing. */
  constructor(operatorsToken?: string, most = MOST_TOKENS) {
    this.#operators = operatorsToken === undefined ? undefined : digest(operatorsToken);
    this.#most = most;
  }

  subjectOf(token: string): string | undefined {
    const key = digest(token);
    return key === this.#operators ? LOCAL_SUBJECT : this.#subjects.get(key);
  }

  /** It was good just now. */
  remember(token: string, subject: string): void {
    const key = digest(token);
    this.#subjects.delete(key);
    if (this.#subjects.size >= this.#most) this.#subjects.delete(this.#subjects.keys().next().value!);
    this.#subjects.set(key, subject);
  }

  /** It is good no more. */
  forget(token: string): void {
    this.#subjects.delete(digest(token));
  }
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
