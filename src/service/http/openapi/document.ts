import swagger, { type SwaggerTransform } from "@fastify/swagger";
import { z } from "zod";
import { API_OPERATIONS } from "../../../contract/api/operations.ts";
import { snapshotSchema, storedEventSchema } from "../../../contract/api/stored-event.ts";
import { SUBMITTED_OPERATIONS } from "../../../contract/config/job-operations.ts";
import { problemSchema } from "../../../contract/problems/problem.ts";
import { MUCAST_VERSION } from "../../../contract/version.ts";
import type { Scope } from "../../auth/caller.ts";
import type { HttpApp } from "../server/http-app.ts";
import { ComponentSchemas, type Direction } from "./component-schemas.ts";
import { EXAMPLE_PAYLOADS } from "./examples.ts";
import { problemAnswers, titleCase } from "./route-docs.ts";

export interface OpenApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Record<string, unknown>>> };
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  /** The scope that a caller needs; missing if the operation is open to anyone. */
  readonly "x-scope"?: Scope;
  readonly parameters?: readonly { readonly name: string; readonly in: "path" | "query" | "header" }[];
  readonly requestBody?: { content: Record<string, OpenApiMedia> };
  readonly responses: Readonly<
    Record<string, { description: string; headers?: object; content?: Record<string, OpenApiMedia> }>
  >;
}

export interface OpenApiMedia {
  readonly schema: Record<string, unknown>;
  examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

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

/** Collects the routes that are registered after this call. `app.swagger()` then returns their document. */
export function collectRoutes(app: HttpApp): void {
  const schemas = new ComponentSchemas();
  // They are named in texts only: bodies of errors and of streams.
  for (const schema of [problemSchema, storedEventSchema, snapshotSchema]) schemas.refer(schema, "output");
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
    transform: (given) => describeRoute(given, schemas),
    transformObject: (made) => complete((made as { openapiObject: object }).openapiObject, schemas) as never,
  });
}

/** Writes the zod schemas of a route as JSON Schema, and adds its scope and its problems. */
function describeRoute({ schema, url, route }: Parameters<SwaggerTransform>[0], schemas: ComponentSchemas) {
  if (schema.hide || [route.method].flat().every((method) => method === "HEAD" || method === "OPTIONS")) {
    return { schema: { hide: true }, url };
  }
  const convert = (value: unknown, direction: Direction): unknown => {
    if (value instanceof z.ZodType) return schemas.refer(value, direction);
    if (Array.isArray(value)) return value.map((item) => convert(item, direction));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, convert(item, direction)]));
  };
  const { response, headers, ...sent } = schema;
  const { access = "admin", problems = [] } = route.config!;
  const documented = {
    ...(convert(sent, "input") as object),
    ...(headers === undefined ? {} : { headers: withTitles(convert(headers, "input") as HeaderSchema) }),
    response: convert({ ...(response as object), ...problemAnswers(access, problems) }, "output"),
    // `security` has no scopes: most tools interpret scopes there as those of OAuth 2.
    ...(access === "anyone" ? { security: [] } : { security: SCOPED_SECURITY, "x-scope": access }),
  };
  return { schema: documented, url };
}

interface HeaderSchema {
  readonly properties: Readonly<Record<string, unknown>>;
}

function withTitles({ properties, ...rest }: HeaderSchema): object {
  const named = Object.entries(properties).map(([name, schema]) => [titleCase(name), schema]);
  return { ...rest, properties: Object.fromEntries(named) };
}

function complete(made: object, { all: schemas }: ComponentSchemas): OpenApiDocument {
  const document = made as OpenApiDocument;
  const paths = structuredClone(document.paths);
  for (const operation of SUBMITTED_OPERATIONS) {
    const value = EXAMPLE_PAYLOADS[operation];
    paths[API_OPERATIONS[operation].path]!.post!.requestBody!.content["application/json"]!.examples = {
      example: { value },
    };
  }
  // A PUT without a body uploads an empty blob.
  Object.assign(paths["/data/{name}"]!.put!.requestBody!, { required: false });
  // HEAD answers what GET answers, without a body. An entry for each HEAD would only repeat the one for GET.
  for (const methods of Object.values(paths)) delete (methods as Record<string, OpenApiOperation>).head;
  return { ...document, components: { ...document.components, schemas }, paths };
}
