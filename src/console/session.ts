/** What the page says about the service that sent it. */
export const PAGE = {
  auth: document.body.dataset.auth as "none" | "keys" | "oidc",
  version: document.body.dataset.version ?? "",
  /** The address of the page without its view, with a trailing slash. */
  baseUrl: new URL(".", location.href).href,
} as const;

/** A session that ended although the reader did not ask for it: the reason of its signal. */
export class SessionLost extends Error {}

const STORED = "mucast.credentials";

/** The key or token in the session storage of the tab; undefined if there is none, or if the browser blocks the storage. */
export function storedToken(): string | undefined {
  try {
    return sessionStorage.getItem(STORED) ?? undefined;
  } catch {
    return undefined;
  }
}

/** @param token undefined removes it. */
export function storeToken(token: string | undefined): void {
  try {
    if (token === undefined) sessionStorage.removeItem(STORED);
    else sessionStorage.setItem(STORED, token);
  } catch {
    // Then it stays only in memory.
  }
}
