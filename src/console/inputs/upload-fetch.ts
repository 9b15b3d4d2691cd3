const listeners = new WeakMap<Blob, (sent: number) => void>();

/** Calls `listener` with the number of sent bytes of a body, each time `uploadFetch` sends it or a form whose part `prices` it is. */
export function onBytesSent(body: Blob, listener: (sent: number) => void): void {
  listeners.set(body, listener);
}

/** `fetch`. A body with a listener is sent with XMLHttpRequest, since fetch does not report how much of a body was sent. */
export const uploadFetch: typeof fetch = (input, init = {}) => {
  const { body } = init;
  const file = body instanceof FormData ? body.get("prices") : body;
  const listener = file instanceof Blob ? listeners.get(file) : undefined;
  if (listener === undefined) return fetch(input, init);
  return send(input instanceof Request ? input.url : String(input), init, listener);
};

function send(url: string, init: RequestInit, listener: (sent: number) => void): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const { signal } = init;
  const request = new XMLHttpRequest();
  const abort = () => request.abort();
  request.open(init.method ?? "GET", url);
  request.responseType = "text";
  for (const [name, value] of new Headers(init.headers)) request.setRequestHeader(name, value);
  request.upload.addEventListener("progress", ({ loaded }) => listener(loaded));
  request.addEventListener("load", () => resolve(answerOf(request)));
  request.addEventListener("error", () => reject(new TypeError("the request has failed")));
  request.addEventListener("abort", () =>
    reject(signal?.reason ?? new DOMException("aborted", "AbortError")),
  );
  request.addEventListener("loadend", () => signal?.removeEventListener("abort", abort));
  signal?.throwIfAborted();
  signal?.addEventListener("abort", abort, { once: true });
  request.send(init.body as Blob | FormData);
  return promise;
}

function answerOf(request: XMLHttpRequest): Response {
  const lines = request.getAllResponseHeaders().trim().split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const at = line.indexOf(":");
    return [line.slice(0, at), line.slice(at + 1).trim()];
  });
  const hasNoBody = request.status === 204 || request.status === 205 || request.status === 304;
  return new Response(hasNoBody ? null : request.responseText, { status: request.status, headers });
}
