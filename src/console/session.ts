/** What the page says of the service that has sent it. */
export const PAGE = {
  auth: document.body.dataset.auth as "none" | "keys" | "oidc",
  version: document.body.dataset.version ?? "",
  /** The address of the page without its view, with a slash at the end. */
  baseUrl: new URL(".", location.href).href,
} as const;

const STORED = "mucast.credentials";

/** The key or token of this tab. It lives in memory; in the tab's session storage only where the reader has asked for that. */
export class Credentials {
  #token: string | undefined;

  constructor() {
    this.#token = sessionStorage.getItem(STORED) ?? undefined;
  }

  get token(): string | undefined {
    return this.#token;
  }

  keep(token: string, isStored: boolean): void {
    this.#token = token;
    if (isStored) sessionStorage.setItem(STORED, token);
    else sessionStorage.removeItem(STORED);
  }

  forget(): void {
    this.#token = undefined;
    sessionStorage.removeItem(STORED);
  }
}
