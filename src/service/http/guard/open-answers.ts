import type { ServerResponse } from "node:http";
import { MucastError } from "../../../contract/errors/errors.ts";

const RETRY_SECONDS = 5;

interface AnswerLimits {
  readonly ofCaller: number;
  readonly all: number;
  /** What they are, in the plural. */
  readonly what: string;
}

/** Limits the answers of one kind in progress, per caller and in total. */
export class OpenAnswers {
  readonly #limits: AnswerLimits;
  readonly #bySubject = new Map<string, number>();
  #all = 0;

  constructor(limits: AnswerLimits) {
    this.#limits = limits;
  }

  /** Counts an answer until its response closes. @throws MucastError rate_limited, unavailable. */
  begin(subject: string, response: Pick<ServerResponse, "once" | "destroyed">): void {
    // A response that is already closed would emit no further `close` and stay counted.
    if (response.destroyed) return;
    const count = this.#bySubject.get(subject) ?? 0;
    const { ofCaller, all, what } = this.#limits;
    if (count >= ofCaller) throw refusal("rate_limited", `${count} ${what} of this caller`);
    if (this.#all >= all) throw refusal("unavailable", `${this.#all} ${what}`);
    this.#all += 1;
    this.#bySubject.set(subject, count + 1);
    response.once("close", () => {
      this.#all -= 1;
      const left = this.#bySubject.get(subject)! - 1;
      if (left === 0) this.#bySubject.delete(subject);
      else this.#bySubject.set(subject, left);
    });
  }
}

function refusal(code: "rate_limited" | "unavailable", what: string): MucastError {
  return new MucastError(code, `${what} are in progress already`, { retryAfter: RETRY_SECONDS });
}
