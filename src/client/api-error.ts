import type { OperationView } from "../contract/api/operation-view.ts";
import type { Problem } from "../contract/problems/problem.ts";

/**
 * The service refused a request, or an operation did not succeed: `problem` says what is wrong and what to do.
 */
export class MucastApiError extends Error {
  readonly problem: Problem;
  /** The operation, if it ended as Failed or Canceled. */
  readonly operation: OperationView | undefined;

  constructor(problem: Problem, operation?: OperationView) {
    super(`${problem.code}: ${problem.detail}`);
    this.name = "MucastApiError";
    this.problem = problem;
    this.operation = operation;
  }

  get code(): Problem["code"] {
    return this.problem.code;
  }

  /** HTTP status of the problem. */
  get status(): number {
    return this.problem.status;
  }
}

/** Decompressed. The service sends less than 4 MB in any JSON but an output. */
const MAX_ANSWER_BYTES = 8 * 2 ** 20;
/** The service draws no larger page. */
const MAX_REPORT_BYTES = 65 * 2 ** 20;
/** V8 has no longer string. */
export const MAX_OUTPUT_BYTES = 2 ** 29 - 24;

/** @throws MucastApiError if the body has more bytes. */
async function textOf(response: Response, maxBytes = MAX_ANSWER_BYTES): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const part of partsOf(response.body)) {
    bytes += part.length;
    if (bytes > maxBytes) throw unexpectedResponse(response, `a body of more than ${maxBytes} bytes`);
    text += decoder.decode(part, { stream: true });
  }
  return text + decoder.decode();
}

/** Not every browser can iterate over a body itself. */
export async function* partsOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, void> {
  const reader = body?.getReader();
  try {
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read())
      yield part.value;
  } finally {
    // If it broke, read() has thrown.
    await reader?.cancel().catch(() => undefined);
  }
}

/** The error of an answer that is not 2xx. */
export async function errorOf(response: Response): Promise<MucastApiError> {
  const text = await textOf(response);
  const problem = problemIn(text, response.status);
  return problem === undefined ? unexpectedResponse(response, text) : new MucastApiError(problem);
}

/** Reads an answer that is a JSON object with a member of that name. @throws MucastApiError of any other one. */
export function objectWith<T>(
  member: keyof T & string,
  maxBytes?: number,
): (response: Response) => Promise<T> {
  return async (response) => {
    const text = await textOf(response, maxBytes);
    const value = objectIn(text);
    if (value === undefined || !Object.hasOwn(value, member)) throw unexpectedResponse(response, text);
    return value as T;
  };
}

/** Reads the text of an answer that is a JSON object. @throws MucastApiError of any other one. */
export async function objectText(response: Response): Promise<string> {
  const text = await textOf(response, MAX_OUTPUT_BYTES);
  if (objectIn(text) === undefined) throw unexpectedResponse(response, text);
  return text;
}

/** Reads an answer that is an HTML page. @throws MucastApiError of any other one. */
export async function htmlText(response: Response): Promise<string> {
  const text = await textOf(response, MAX_REPORT_BYTES);
  if (!/^text\/html\b/i.test(response.headers.get("content-type") ?? ""))
    throw unexpectedResponse(response, text);
  return text;
}

function problemIn(text: string, status: number): Problem | undefined {
  const found = objectIn(text) as Partial<Problem> | undefined;
  if (typeof found?.code !== "string" || typeof found.detail !== "string") return undefined;
  return { ...found, status: typeof found.status === "number" ? found.status : status } as Problem;
}

/** Undefined if the text is not JSON, or not an object. */
export function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const MAX_SHOWN_LENGTH = 200;

/** The error of an answer that is not mucast's, such as a proxy's. */
function unexpectedResponse(response: Response, text: string): MucastApiError {
  const { status, url } = response;
  const said = (redirectOf(response) ?? text.trim()).slice(0, MAX_SHOWN_LENGTH);
  return new MucastApiError({
    type: "about:blank",
    title: "The answer is not one of mucast",
    status,
    code: status === 404 ? "not_found" : "unavailable",
    detail: `${url || "the service"} answered ${status}${said === "" ? "" : `: ${said}`}`,
    advice: "Check baseUrl, and what lies between it and the service.",
  });
}

/** Without the query, which may carry a secret. Browsers do not show the target of a redirect. */
function redirectOf({ type, status, url, headers }: Response): string | undefined {
  if (type === "opaqueredirect") return "a redirect, which is not followed";
  const location = headers.get("location");
  // If an operation was accepted, the response names its URL.
  if (location === null || status < 300) return undefined;
  const target = URL.parse(location, url || undefined);
  const shown = /^https?:$/.test(target?.protocol ?? "")
    ? `${target!.origin}${target!.pathname}`
    : "no web page";
  return `a redirect to ${shown}, which is not followed`;
}
