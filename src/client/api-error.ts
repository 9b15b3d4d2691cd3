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

/** The error of an answer that is not 2xx. */
export async function errorOf(response: Response): Promise<MucastApiError> {
  const text = await response.text();
  const problem = objectIn(text) as Partial<Problem> | undefined;
  if (typeof problem?.code !== "string" || typeof problem.detail !== "string")
    return unexpectedResponse(response, text);
  const status = typeof problem.status === "number" ? problem.status : response.status;
  return new MucastApiError({ ...problem, status } as Problem);
}

/** Reads an answer that is a JSON object with a member of that name. @throws MucastApiError of any other one. */
export function objectWith<T>(member: keyof T & string): (response: Response) => Promise<T> {
  return async (response) => {
    const text = await response.text();
    const value = objectIn(text);
    if (value === undefined || !Object.hasOwn(value, member)) throw unexpectedResponse(response, text);
    return value as T;
  };
}

/** Reads the text of an answer that is a JSON object. @throws MucastApiError of any other one. */
export async function objectText(response: Response): Promise<string> {
  const text = await response.text();
  if (objectIn(text) === undefined) throw unexpectedResponse(response, text);
  return text;
}

/** Reads an answer that is an HTML page. @throws MucastApiError of any other one. */
export async function htmlText(response: Response): Promise<string> {
  const text = await response.text();
  if (!/^text\/html\b/i.test(response.headers.get("content-type") ?? ""))
    throw unexpectedResponse(response, text);
  return text;
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
function unexpectedResponse({ status, type, url, headers }: Response, text: string): MucastApiError {
  let said = text.trim();
  const location = status >= 300 ? headers.get("location") : null;
  if (type === "opaqueredirect" || location !== null) {
    // Browsers do not show the target of a redirect. Its query may carry a secret.
    const target = URL.parse(location ?? "", url || undefined);
    const to = location === null ? "" : ` to ${target?.origin}${target?.pathname}`;
    said = `a redirect${to}, which is not followed`;
  }
  return new MucastApiError({
    type: "about:blank",
    title: "The answer is not one of mucast",
    status,
    code: status === 404 ? "not_found" : "unavailable",
    detail: `${url || "the service"} answered ${status}${said === "" ? "" : `: ${said.slice(0, MAX_SHOWN_LENGTH)}`}`,
    advice: "Check baseUrl, and what lies between it and the service.",
  });
}
