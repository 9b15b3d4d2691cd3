import swagger, { type SwaggerTransform } from "@fastify/swagger";
import { z } from "zod";
import { API_OPERATIONS, type ApiOperationName } from "../../contract/api/operations.ts";
import { snapshotSchema, storedEventSchema } from "../../contract/api/stored-event.ts";
import { ERROR_TABLE, type ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemSchema } from "../../contract/problems/problem.ts";
import { addDefault, openSchema } from "../../contract/schema/open-schema.ts";
import { MUCAST_VERSION } from "../../contract/version.ts";
import type { Scope } from "../auth/caller.ts";
import { EXAMPLE_PAYLOADS, ML_PAYLOAD } from "./examples.ts";
import { REQUEST_HEADERS } from "./guard.ts";
import { type HttpApp, PROBLEM_TYPE, problemAnswer, type RouteAccess } from "./http-app.ts";

type JsonSchema = Record<string, unknown>;

export interface OpenApiDocument {
  readonly info: Readonly<Record<"title" | "version" | "description", string>>;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly "x-scope"?: Scope;
  readonly parameters?: readonly { readonly name: string; readonly in: "path" | "query" | "header" }[];
  readonly requestBody?: { readonly content: OpenApiContent };
  readonly responses: Readonly<Record<string, { headers?: object; content?: OpenApiContent }>>;
}

type OpenApiContent = Record<
  string,
  { readonly schema: JsonSchema; examples?: Readonly<Record<string, { readonly value: unknown }>> }
>;

const DESCRIPTION = `Trains return forecasts for portfolio optimization. Jobs are asynchronous: submitting a job returns 202 with an operation. Poll the operation or follow its events until it has ended. \`result.output_url\` is then the URL of the output blob with \`mu\`.

Every error is a problem (RFC 9457) with a \`code\`, a \`detail\` that names the place and the value, and \`advice\`. Limits (body and upload size, requests per minute, queued operations) are settings of the service; an error for an exceeded limit states the limit.

Paths under \`/v1\` and the names of schemas change only in breaking releases. New paths, new members of responses, new event types and new codes are compatible changes: ignore what you do not know.`;

const TAGS = [
  { name: "Jobs", description: "Train and forecast." },
  { name: "Operations", description: "Follow, read and cancel jobs." },
  { name: "Blobs", description: "Inputs and outputs." },
  { name: "Service", description: "Health, metrics and this document." },
];

const BEARER = { type: "http", scheme: "bearer" } as const;
const SECURITY_SCHEMES = {
  apiKey: {
    ...BEARER,
    bearerFormat: "mucast_<id>_<secret>",
    description: "A key from `mucast keys create`, with the scope in the operation's `x-scope`.",
  },
  oidc: { ...BEARER, bearerFormat: "JWT", description: "An access token of the configured OIDC issuer." },
};

/** `{}`: no credentials, which are not needed for a service with `auth` none. */
const SCOPED_SECURITY = [{}, { apiKey: [] }, { oidc: [] }];

export function collectRoutes(app: HttpApp): void {
  const schemas: Schemas = {};
  // They are named in texts only: bodies of errors and of streams.
  for (const schema of [problemSchema, storedEventSchema, snapshotSchema]) refer(schemas, schema, "output");
  void app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "mucast",
        version: MUCAST_VERSION,
        description: DESCRIPTION,
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
        contact: { name: "the operator of this service" },
      },
      servers: [{ url: "/" }],
      tags: TAGS,
      components: { securitySchemes: SECURITY_SCHEMES },
    },
    convertConstToEnum: false,
    transform: (route) => describeRoute(route, schemas),
    transformObject: (all) =>
      complete((all as unknown as { openapiObject: OpenApiDocument }).openapiObject, schemas) as never,
  });
}

function describeRoute({ schema, url, route }: Parameters<SwaggerTransform>[0], schemas: Schemas) {
  if (schema.hide || [route.method].flat().every((method) => method === "HEAD" || method === "OPTIONS")) {
    return { schema: { hide: true }, url };
  }
  const convert = (value: unknown, direction: Direction): unknown => {
    if (value instanceof z.ZodType) return refer(schemas, value, direction);
    if (Array.isArray(value)) return value.map((item) => convert(item, direction));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, convert(item, direction)]));
  };
  const { response, ...sent } = schema;
  const { access = "admin", problems = [] } = route.config!;
  const input = convert(sent, "input") as { headers?: { properties: JsonSchema } };
  if (input.headers !== undefined) {
    // As people write them.
    const titled = Object.entries(input.headers.properties).map(([name, header]) => [
      REQUEST_HEADERS.find((title) => title.toLowerCase() === name),
      header,
    ]);
    input.headers.properties = Object.fromEntries(titled);
  }
  const documented = {
    ...input,
    response: convert({ ...(response as object), ...problemAnswers(access, problems) }, "output"),
    // `security` has no scopes: most tools interpret scopes there as those of OAuth 2.
    ...(access === "anyone" ? { security: [] } : { security: SCOPED_SECURITY, "x-scope": access }),
  };
  return { schema: documented, url };
}

function complete(document: OpenApiDocument, schemas: Schemas): OpenApiDocument {
  const paths = structuredClone(document.paths);
  for (const [name, value] of Object.entries({ ...EXAMPLE_PAYLOADS, validate: ML_PAYLOAD })) {
    const { content } = paths[`/v1/${name}`]!.post!.requestBody!;
    content["application/json"]!.examples = { example: { value } };
  }
  // A PUT without a body uploads an empty blob.
  Object.assign(paths["/data/{name}"]!.put!.requestBody!, { required: false });
  // HEAD answers what GET answers, without a body. An entry for each HEAD would only repeat the one for GET.
  for (const methods of Object.values(paths)) delete (methods as Record<string, OpenApiOperation>).head;
  return { ...document, components: { ...document.components, schemas }, paths };
}

/** Callers may omit members with a default from what they send (`input`). */
type Direction = "input" | "output";

const PREFIX = "#/components/schemas/";

/** Named schemas, by the name in their `.meta({ id })`. */
type Schemas = Record<string, JsonSchema>;

/** A reference to a named schema, which is added to `schemas` with those that it refers to; otherwise the schema itself. */
function refer(schemas: Schemas, schema: z.ZodType, direction: Direction): JsonSchema {
  for (const [name, named] of Object.entries(namedSchemas(schema, direction))) {
    // Of one that callers both send and receive, what they receive.
    if (direction === "output" || schemas[name] === undefined) schemas[name] = named;
  }
  const name = schema.meta()?.id;
  if (name !== undefined) return { $ref: `${PREFIX}${name}` };
  const { $defs: _named, ...unnamed } = convert(schema, direction);
  return unnamed;
}

export function namedSchemas(schema: z.ZodType, direction: Direction = "output"): Schemas {
  const { $defs = {}, ...root } = convert(schema, direction);
  const name = schema.meta()?.id;
  // A recursive schema is also in $defs, and `root` is then only a reference to it.
  const all = { ...(name === undefined ? {} : { [name]: root }), ...($defs as Schemas) };
  return Object.fromEntries(Object.entries(all).map(([id, { id: _id, ...rest }]) => [id, rest]));
}

function convert(schema: z.ZodType, direction: Direction): JsonSchema {
  const { $schema: _dialect, ...json } = z.toJSONSchema(
    direction === "output" ? openSchema(schema) : schema,
    {
      io: direction,
      override: ({ zodSchema, jsonSchema }) => {
        addDefault({ zodSchema, jsonSchema });
        // `format: date-time` says the same as the pattern.
        if (jsonSchema.format === "date-time") delete jsonSchema.pattern;
        if (!Array.isArray(jsonSchema.prefixItems)) return;
        // Linters and generators of clients know only arrays whose elements share one schema. The bounds state the length of a tuple.
        const kinds = new Map(jsonSchema.prefixItems.map((kind) => [JSON.stringify(kind), kind]));
        jsonSchema.items =
          kinds.size === 1 ? jsonSchema.prefixItems[0]! : ({ anyOf: [...kinds.values()] } as never);
        delete jsonSchema.prefixItems;
      },
    },
  ) as JsonSchema;
  return JSON.parse(JSON.stringify(json), (key, value) =>
    key === "$ref" && typeof value === "string" ? value.replace("#/$defs/", PREFIX) : value,
  );
}

export function header(description: string, type: "string" | "integer" = "string") {
  return { type, description };
}

type HeaderDocs = Readonly<Record<string, ReturnType<typeof header>>>;

export function apiDocs(name: ApiOperationName, tag: string, note = "") {
  const { title, description } = API_OPERATIONS[name];
  return { operationId: name, summary: title, description: `${description}${note}`, tags: [tag] };
}

/** An answer of JSON, with an example that a test checks against the schema. */
export function jsonAnswer(description: string, schema: z.ZodType, value: unknown, headers: HeaderDocs = {}) {
  const content = { "application/json": { schema, examples: { example: { value } } } };
  return { description, headers, content };
}

/** An answer without a body. Without the type `null`, @fastify/swagger would add one. */
export function emptyAnswer(description: string, headers: HeaderDocs = {}) {
  return { type: "null", description, headers };
}

/** The answers of Node's HTTP server to headers that it does not pass on. */
const SERVER_ANSWERS = {
  408: emptyAnswer("The headers came too slowly."),
  417: emptyAnswer("The only expectation that can be met is 100-continue."),
  431: emptyAnswer("The URL and the headers together are longer than 16 KiB."),
};

const ALWAYS = ["invalid_request", "forbidden", "rate_limited", "internal", "unavailable"] as const;

const EXAMPLE_DATA: Partial<Record<ErrorCode, Record<string, unknown>>> = {
  rate_limited: { retryAfter: 1 },
  method_not_allowed: { allow: ["GET", "HEAD"] },
  range_not_satisfiable: { size: 1024 },
  invalid_request: {
    path: "query.limit",
    faults: [{ path: "query.limit", message: "must be <= 100, got 101" }],
  },
};

const PROBLEM_HEADERS: HeaderDocs = {
  "Retry-After": header("Seconds to wait before trying again.", "integer"),
  "WWW-Authenticate": header("The required credentials, and what is wrong with the given ones."),
  Allow: header("The allowed methods."),
  "Content-Range": header("`bytes */<size>`."),
};

function problemAnswers(access: RouteAccess, codes: readonly ErrorCode[]): Record<string, object> {
  const all = new Set([...ALWAYS, ...(access === "anyone" ? [] : ["unauthorized" as const]), ...codes]);
  const answers = [...all].map((code) => {
    const { title } = ERROR_TABLE[code];
    const { problem, headers } = problemAnswer(new MucastError(code, title, EXAMPLE_DATA[code]));
    // The id of a defect is random, and the generated document must not change.
    const value = code === "internal" ? { ...problem, detail: title, id: "…" } : problem;
    return { code, title, value, headers: Object.keys(headers) };
  });
  const problems = [...Map.groupBy(answers, ({ value }) => value.status)].map(([status, group]) => {
    const description = group.map(({ code, title }) => `\`${code}\`: ${title}.`).join(" ");
    const names = group.flatMap(({ headers }) => headers);
    const headers = Object.fromEntries(names.map((name) => [name, PROBLEM_HEADERS[name]]));
    const examples = Object.fromEntries(group.map(({ code, value }) => [code, { value }]));
    const schema = { $ref: `${PREFIX}Problem` };
    return [status, { description, headers, content: { [PROBLEM_TYPE]: { schema, examples } } }];
  });
  return { ...SERVER_ANSWERS, ...Object.fromEntries(problems) };
}
