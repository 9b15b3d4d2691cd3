import { useEffect, useState } from "preact/hooks";
import { pause } from "../client/connection.ts";
import { MucastApiError, MucastClient, type QueueView } from "../client/index.ts";
import { uploadFetch } from "./inputs/uploads.ts";

const REFUSED =
  "The service does not accept this key or token: it is mistyped, was revoked or has expired. Sign in again.";
/** Statuses that a proxy returns if its service does not respond. */
const UNREACHABLE_STATUSES = [502, 504];
const POLL_MS = 3_000;
/** A request that waits this long counts as unanswered. */
const SILENCE_MS = 10_000;

/**
 * The service as the console sees it. Every request of the console shows whether it responds and accepts the key; while the page is visible,
 * it is asked every three seconds how busy it is, so that the console notices by itself when it is back.
 * @param onEnd called when the session ends. @param reason why, if the reader has not asked for it.
 */
export function useService(token: string | undefined, onEnd: (reason?: string) => void) {
  const [downSince, setDownSince] = useState<Date>();
  const [queue, setQueue] = useState<QueueView>();
  const [fault, setFault] = useState<MucastApiError>();
  const setResponding = (isUp: boolean) =>
    setDownSince((since) => (isUp ? undefined : (since ?? new Date())));
  const [{ client, signal, end }] = useState(() => {
    const ended = new AbortController();
    const { signal } = ended;
    const end = (reason?: string) => {
      if (signal.aborted) return;
      ended.abort(reason === undefined ? undefined : new SessionLost(reason));
      onEnd(reason);
    };
    const watched: typeof fetch = async (input, init) => {
      try {
        const response = await uploadFetch(input, init);
        setResponding(!UNREACHABLE_STATUSES.includes(response.status));
        if (response.status === 401) end(REFUSED);
        return response;
      } catch (error) {
        if (!init?.signal?.aborted) setResponding(false);
        throw error;
      }
    };
    const key = token === undefined ? {} : { apiKey: token };
    return { signal, end, client: new MucastClient({ baseUrl: PAGE.baseUrl, fetch: watched, ...key }) };
  });
  useEffect(() => {
    const ask = async () => {
      const silence = AbortSignal.timeout(SILENCE_MS);
      try {
        setQueue(await client.getQueue({ signal: AbortSignal.any([signal, silence]) }));
        setFault(undefined);
      } catch (error) {
        if (silence.aborted) setResponding(false);
        if (error instanceof MucastApiError) setFault(error);
      }
    };
    const follow = async () => {
      for (;;) {
        if (!document.hidden) await ask();
        await pause(POLL_MS, signal);
      }
    };
    // It rejects when the session ends.
    follow().catch(() => undefined);
  }, []);
  return { client, signal, end, downSince, queue, fault };
}

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
