import type { z } from "zod";
import { API_OPERATIONS, type ApiOperationName } from "../../../contract/api/operations.ts";
import { ERROR_TABLE, type ErrorCode } from "../../../contract/errors/error-codes.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { RouteAccess } from "../server/http-app.ts";
import { PROBLEM_TYPE, type ProblemHeader, problemAnswer } from "../server/problem-answer.ts";

export interface HeaderDoc {
  readonly type: "string" | "integer";
  readonly description: string;
}

export interface AnswerDoc {
  readonly description: string;
  readonly headers?: Readonly<Record<string, HeaderDoc>>;
  readonly content?: Readonly<
    Record<string, { schema: unknown; examples?: Record<string, { value: unknown }> }>
  >;
}

/** What the document says of a route for an operation of the API. @param note follows its description. */
export function apiDocs(name: ApiOperationName, tag: string, note = "") {
  const { title, description } = API_OPERATIONS[name];
  return { operationId: name, summary: title, description: `${description}${note}`, tags: [tag] };
}

/** An answer of JSON, with an example that a test checks against the schema. */
export function jsonAnswer(
  description: string,
  schema: z.ZodType,
  example: unknown,
  headers: AnswerDoc["headers"] = {},
): AnswerDoc {
  return {
    description,
    headers,
    content: { "application/json": { schema, examples: { example: { value: example } } } },
  };
}

/** An answer without a body. Without the type `null`, @fastify/swagger would add one. */
export function emptyAnswer(description: string, headers: AnswerDoc["headers"] = {}): object {
  return { type: "null", description, headers };
}

const ALWAYS: readonly ErrorCode[] = [
  "invalid_request",
  "forbidden",
  "rate_limited",
  "internal",
  "unavailable",
];

/**
 * The problems that a route may answer, one entry per status.
 * @param codes codes of this route in addition to those of every route.
 */
export function problemAnswers(
  access: RouteAccess,
  codes: readonly ErrorCode[] = [],
): Record<string, object> {
  const all = new Set([...ALWAYS, ...(access === "anyone" ? [] : ["unauthorized" as const]), ...codes]);
  const byStatus = Map.groupBy([...all].map(makeExample), ({ status }) => status);
  const problems = [...byStatus].map(([status, examples]) => [status, problemDoc(examples)]);
  return { ...SERVER_ANSWERS, ...Object.fromEntries(problems) };
}

/** The answers of Node's HTTP server to headers that it does not pass on. */
const SERVER_ANSWERS = {
  408: emptyAnswer("The headers came too slowly."),
  417: emptyAnswer("The only expectation that can be met is 100-continue."),
  431: emptyAnswer("The URL and the headers together are longer than 16 KiB."),
};

interface ProblemExample {
  readonly status: number;
  readonly code: ErrorCode;
  readonly value: unknown;
  readonly headers: object;
}

/** Data of the examples, for the codes whose status or headers depend on the data. */
const EXAMPLE_DATA: Partial<Record<ErrorCode, Record<string, unknown>>> = {
  rate_limited: { retryAfter: 1 },
  method_not_allowed: { allow: ["GET", "HEAD"] },
  range_not_satisfiable: { size: 1024 },
  invalid_request: {
    path: "query.limit",
    faults: [{ path: "query.limit", message: "must be <= 100, got 101" }],
  },
};

function makeExample(code: ErrorCode): ProblemExample {
  const { title } = ERROR_TABLE[code];
  const { problem, headers } = problemAnswer(new MucastError(code, title, EXAMPLE_DATA[code]));
  // The id of a defect is random, and the generated document must not change.
  const value = code === "internal" ? { ...problem, detail: title, id: "…" } : problem;
  return { status: problem.status, code, value, headers };
}

const HEADER_DOCS: Readonly<Record<ProblemHeader, HeaderDoc>> = {
  "retry-after": { type: "integer", description: "Seconds to wait before trying again." },
  "www-authenticate": {
    type: "string",
    description: "The required credentials, and what is wrong with the given ones.",
  },
  allow: { type: "string", description: "The allowed methods." },
  "content-range": { type: "string", description: "`bytes */<size>`." },
};

function problemDoc(examples: readonly ProblemExample[]): AnswerDoc {
  const codes = new Set(examples.map(({ code }) => code));
  const sentences = [...codes].map((code) => `\`${code}\`: ${ERROR_TABLE[code].title}.`);
  const names = [...new Set(examples.flatMap(({ headers }) => Object.keys(headers) as ProblemHeader[]))];
  return {
    description: sentences.join(" "),
    headers: Object.fromEntries(names.map((name) => [titleCase(name), HEADER_DOCS[name]])),
    content: {
      [PROBLEM_TYPE]: {
        schema: { $ref: "#/components/schemas/Problem" },
        examples: Object.fromEntries(examples.map(({ code, value }) => [code, { value }])),
      },
    },
  };
}

/** A header's name in its usual spelling, such as `Retry-After`. */
export function titleCase(name: string): string {
  if (name === "etag" || name === "www-authenticate") return name === "etag" ? "ETag" : "WWW-Authenticate";
  return name.replaceAll(
    /(^|-)(id$|[a-z])/g,
    (_, dash: string, rest: string) => `${dash}${rest.toUpperCase()}`,
  );
}
