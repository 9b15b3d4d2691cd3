import { errorOf, MucastApiError } from "./api-error.ts";

export interface ClientOptions {
  /** The service's URL, such as `http://127.0.0.1:8080`; it may include a path before `/v1`. */
  readonly baseUrl: string | URL;
  /**
   * A key of `mucast keys create`, or an OIDC access token: sent as `Authorization: Bearer`. It requires https, unless the service is on
   * this machine, or `baseUrl` has the origin of the page that runs the client.
   */
  readonly apiKey?: string;
  /** Instead of the global fetch. */
  readonly fetch?: typeof fetch;
}

/** A list repeats its name for each entry. */
type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface Call {
  /** GET by default. */
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Starts with a slash. */
  readonly path: string;
  readonly query?: Query | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestInit["body"];
  /** Whether sending it twice has the same effect as sending it once; true by default. */
  readonly repeatable?: boolean;
  readonly signal?: AbortSignal | undefined;
}

const RETRIES = 5;
/** Seconds; the client does not wait for a service that asks for more. */
const MAX_RETRY_AFTER = 60;
const RETRYABLE_STATUSES = new Set([429, 502, 503, 504]);

/** Requests to one service, with its credentials. */
export class Connection {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #fetch: typeof fetch;

  /** @throws TypeError if the key would cross a network in clear text. */
  constructor({ baseUrl, apiKey, fetch: ownFetch }: ClientOptions) {
    const url = new URL(baseUrl);
    if (apiKey !== undefined) requireEncryption(url);
    this.#base = url.href.replace(/\/+$/, "");
    this.#headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    // Called as a plain function: browsers refuse fetch as a method of another object.
    this.#fetch = ownFetch ?? ((input, init) => fetch(input, init));
  }

  /** One attempt. @returns any answer. @throws TypeError if there is none. */
  once({ method = "GET", path, query, headers, body, signal }: Call): Promise<Response> {
    return this.#fetch(`${this.#base}${path}${searchOf(query)}`, {
      method,
      headers: { ...this.#headers, ...headers },
      // A payload and its signatures go only to the service that the caller has named.
      redirect: "manual",
      signal: signal ?? null,
      ...(body === undefined ? {} : { body }),
      // What fetch requires if the body is a stream.
      ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
    } as RequestInit);
  }

  /**
   * Returns what `read` makes of a 2xx answer. A repeatable call is sent up to five more times if there is no answer, if the
   * answer breaks off while it is read, or if its status is 429, 502, 503 or 504 (except for work that took too long, `timed_out`).
   * @throws MucastApiError of any other answer; TypeError if there is none; the signal's reason.
   */
  async send<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    for (let failures = 1; ; failures += 1) {
      const mayRepeat = (call.repeatable ?? true) && failures <= RETRIES;
      let wait = backoff(failures);
      try {
        const response = await this.once(call);
        if (response.ok) return await read(response);
        const error = await errorOf(response);
        const isOff = RETRYABLE_STATUSES.has(response.status) && error.code !== "timed_out";
        const asked = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
        if (!isOff || asked > MAX_RETRY_AFTER || !mayRepeat) throw error;
        if (asked >= 0) wait = asked * 1_000;
      } catch (error) {
        if (error instanceof MucastApiError || !mayRepeat || call.signal?.aborted) throw error;
      }
      await pause(wait, call.signal);
    }
  }
}

const THIS_MACHINE = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

function requireEncryption({ protocol, hostname, origin }: URL): void {
  if (protocol === "https:" || (protocol === "http:" && THIS_MACHINE.test(hostname))) return;
  // Only browsers have it. A page that came over http gives its key away anyway.
  const { location } = globalThis as { readonly location?: { readonly origin: string } };
  if (protocol === "http:" && origin === location?.origin) return;
  throw new TypeError(`with a key, the URL of the service must begin with https://, got ${origin}`);
}

const FIRST_MS = 200;
const MAX_MS = 10_000;

/** Milliseconds before another attempt: doubling, with half of it random so that many clients do not retry at the same time. */
export function backoff(failures: number): number {
  const most = Math.min(MAX_MS, FIRST_MS * 2 ** (failures - 1));
  return most / 2 + (Math.random() * most) / 2;
}

/** Settles after `milliseconds`. @throws the signal's reason as soon as it aborts. */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => reject(signal!.reason);
  const timer = setTimeout(resolve, milliseconds);
  signal?.addEventListener("abort", abort, { once: true });
  await promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  });
}

/** The query that follows the path of a URL: empty, or with its question mark. */
export function searchOf(query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value ?? []].flat()) search.append(name, String(item));
  }
  return search.size === 0 ? "" : `?${search}`;
}
