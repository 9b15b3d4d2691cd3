/** What the page says about the service that sent it. */
export const PAGE = {
  auth: document.body.dataset.auth as "none" | "keys" | "oidc",
  version: document.body.dataset.version ?? "",
  /** The address of the page without its view, with a trailing slash. */
  baseUrl: new URL(".", location.href).href,
} as const;

const STORED = "mucast.credentials";

/** The key or token of this tab. It lives in memory, and in the tab's session storage only if the reader has asked for that. */
export class Credentials {
  readonly #storage = storageOfTab();
  #token: string | undefined;

  constructor() {
    this.#token = this.#storage?.getItem(STORED) ?? undefined;
  }

  get token(): string | undefined {
    return this.#token;
  }

  keep(token: string, isStored: boolean): void {
    this.#token = token;
    if (isStored) this.#storage?.setItem(STORED, token);
    else this.#storage?.removeItem(STORED);
  }

  forget(): void {
    this.#token = undefined;
    this.#storage?.removeItem(STORED);
  }
}

/** Undefined if the browser blocks it: then a key stays only in memory. */
function storageOfTab(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}
