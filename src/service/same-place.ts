import { type BigIntStats, statSync } from "node:fs";
import { MucastError } from "../contract/errors/errors.ts";
import { causeOf } from "../contract/errors/system-error.ts";

/** A file or folder that has to stay where it was when it was first seen: what is put in its place is another one. */
export class SamePlace {
  readonly #path: string;
  readonly #shown: string;
  #first: BigIntStats | undefined;

  /** @param shown what errors call it: callers read them, and are told no path of the machine. */
  constructor(path: string, shown: string) {
    this.#path = path;
    this.#shown = shown;
  }

  /** @throws MucastError unavailable where what was seen before is gone, or is another. Nothing was seen yet: harmless. */
  check(): void {
    let now: BigIntStats | undefined;
    try {
      now = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    } catch (cause) {
      throw new MucastError(
        "unavailable",
        `${this.#shown} cannot be looked at: ${causeOf(cause)}`,
        {},
        { cause },
      );
    }
    this.#first ??= now;
    if (now?.ino === this.#first?.ino && now?.dev === this.#first?.dev) return;
    const what = now === undefined ? "is gone" : "is not the one that it was";
    throw new MucastError("unavailable", `${this.#shown} ${what}; put it back, and start the service again`);
  }
}
