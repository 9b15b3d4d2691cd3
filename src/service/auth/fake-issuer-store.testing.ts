import type { IssuerStore } from "./issuer-store.ts";

/** A fake store in memory. */
export class FakeIssuerStore implements IssuerStore {
  #first: string | undefined;

  async first(issuer: string): Promise<string> {
    this.#first ??= issuer;
    return this.#first;
  }
}
