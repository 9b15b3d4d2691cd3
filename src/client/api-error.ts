import type { Problem } from "../contract/errors.ts";
import type { OperationView } from "../contract/operation-view.ts";

/**
 * What the service refused, or an operation that did not succeed: `problem` says what is wrong and what to do.
 */
export class MucastApiError extends Error {
  readonly problem: Problem;
  /** The operation, where one has ended as Failed or Canceled. */
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

/** The error of an answer that is not 2xx; one without a problem comes from something between, such as a proxy. */
export async function errorOf(response: Response): Promise<MucastApiError> {
  const text = await response.text();
  return new MucastApiError(problemIn(text) ?? foreignProblem(response, text));
}

function problemIn(text: string): Problem | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  const problem = typeof found === "object" && found !== null ? (found as Partial<Problem>) : {};
  return typeof problem.code === "string" && typeof problem.detail === "string"
    ? (problem as Problem)
    : undefined;
}

const SHOWN = 200;

function foreignProblem(response: Response, text: string): Problem {
  const { status, url } = response;
  const said = (redirectOf(response) ?? text.trim()).slice(0, SHOWN);
  return {
    type: "about:blank",
    title: "The answer is not one of mucast",
    status,
    code: status >= 500 ? "unavailable" : "not_found",
    detail: `${url || "the service"} answered ${status}${said === "" ? "" : `: ${said}`}`,
    advice: "Check baseUrl, and what lies between it and the service.",
  };
}

/** In words, without a query, which may carry what belongs in no log; browsers do not tell where one leads. */
function redirectOf({ type, url, headers }: Response): string | undefined {
  if (type === "opaqueredirect") return "a redirect, which is not followed";
  const location = headers.get("location");
  if (location === null) return undefined;
  const target = URL.parse(location, url || undefined);
  return `a redirect to ${target === null ? "nowhere" : `${target.origin}${target.pathname}`}, which is not followed`;
}
