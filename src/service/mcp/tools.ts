import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { OperationView } from "../../contract/api/operation-view.ts";
import {
  API_OPERATIONS,
  type ApiOperation,
  type ApiOperationName,
  idempotencyKeySchema,
} from "../../contract/api/operations.ts";
import { EXAMPLE_CONFIGS } from "../../contract/config/example-configs.ts";
import type { PayloadUse } from "../../contract/config/payload-schemas.ts";
import { faultsOf, invalidRequest } from "../../contract/errors/faults.ts";
import { parseJson } from "../../contract/json/json-text.ts";
import { addDefault } from "../../contract/schema/open-schema.ts";
import { type Caller, requireScope } from "../auth/caller.ts";
import type { Operations } from "../operations/operations.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** An agent reads all of them at its start, at most 40 KB. So they have no output schemas, which would take four times as much. */
export const TOOLS = Object.values(API_OPERATIONS).map((operation) => ({
  name: operation.name,
  ...makeTool(operation),
}));

function makeTool({ title, description, method, name, config, input }: ApiOperation) {
  const hasPayload = config !== undefined;
  const isJob = hasPayload && name !== "validate_job";
  const schema = completeSchema(hasPayload ? payloadInput(name, input, config) : input);
  const inputSchema: StandardSchemaWithJSON<Record<string, unknown>> = {
    "~standard": {
      version: 1,
      vendor: "mucast",
      // callTool checks the arguments, so that their faults become a problem like all others.
      validate: (value) => ({ value: value as Record<string, unknown> }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
  const annotations = {
    title,
    readOnlyHint: method === "GET" || name === "validate_job",
    destructiveHint: name === "cancel_operation",
    // A job is idempotent only with an idempotency_key.
    idempotentHint: !isJob,
    // Blobs may be on other hosts.
    openWorldHint: hasPayload,
  };
  return { title, description, annotations, inputSchema };
}

function payloadInput(name: string, input: z.ZodObject, config: z.ZodType): z.ZodObject {
  const text = z.string().describe("The same as JSON text, taken exactly as it is written.");
  const either = z.union([config, text]);
  const { config: described } = input.shape as { config: z.ZodType };
  const example = EXAMPLE_CONFIGS.find(({ operation }) => operation === name);
  const start = example && ` For a hundred tickers or more, start from ${JSON.stringify(example.config)}`;
  const payload = input.extend({
    // A replay usually takes the config that its output records.
    config: described.safeParse(undefined).success
      ? either.optional().describe(described.description!)
      : either.describe(
          `What to train. Leave out whatever should have its default; unknown keys are refused.${start ?? ""}`,
        ),
  });
  if (name === "validate_job") return payload;
  return payload.extend({
    idempotency_key: idempotencyKeySchema
      .optional()
      .describe(
        "Choose one for each job that you mean, such as a UUID: a call that is repeated with the same key and " +
          "arguments gives the operation it gave before and starts no second job.",
      ),
  });
}

/** The JSON Schema of a zod schema without `$ref`, which not every model's host resolves. */
function completeSchema(schema: z.ZodType): JsonObject {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      addDefault({ zodSchema, jsonSchema });
      // The pattern of a date takes half a kilobyte and adds nothing to the format.
      if (jsonSchema.format?.startsWith("date")) delete jsonSchema.pattern;
    },
  });
  return inline(json, (json.$defs ?? {}) as Record<string, JsonObject>) as JsonObject;
}

function inline(value: unknown, definitions: Record<string, JsonObject>): unknown {
  if (Array.isArray(value)) return value.map((item) => inline(item, definitions));
  if (typeof value !== "object" || value === null) return value;
  const { $ref: reference, $defs: _, ...members } = value as Record<string, unknown>;
  const name = typeof reference === "string" ? reference.replace("#/$defs/", "") : "";
  const all = Object.entries({ ...definitions[name], ...members });
  return Object.fromEntries(all.map(([key, item]) => [key, inline(item, definitions)]));
}

/** The operations behind the tools: those of this service, or of another one over HTTP. */
export type ToolOperations = Pick<
  Operations,
  "validate" | "get" | "list" | "cancel" | "forecast" | "verdict"
> & {
  submit(...submitted: Parameters<Operations["submit"]>): Promise<{ operation: OperationView }>;
};

export interface ToolContext {
  readonly operations: ToolOperations;
  readonly caller: Caller;
  readonly address: string;
  readonly traceparent?: string | undefined;
}

/** Tickers in the answer of validate_job: enough for an agent to see what they have in common. */
const MAX_PREVIEWED = 50;

export async function callTool(
  { operations, caller, address, traceparent }: ToolContext,
  name: ApiOperationName,
  args: JsonObject,
  signal: AbortSignal,
) {
  requireScope(caller, API_OPERATIONS[name].scope, name);
  switch (name) {
    case "run_ml_job":
    case "run_dl_job":
    case "audit":
    case "replay": {
      const submission = { ...makeSubmission(name, args), traceparent, origin: address };
      return (await operations.submit(caller, submission)).operation;
    }
    case "validate_job": {
      const { payload } = makeSubmission(name, args);
      const preview = await operations.validate(caller, { payload, origin: address }, signal);
      return { ...preview, tickers: preview.tickers.slice(0, MAX_PREVIEWED) };
    }
    case "get_operation":
      return operations.get(caller, parseArguments(name, args).id);
    case "get_forecast":
      return operations.forecast(caller, parseArguments(name, args), signal);
    case "get_verdict":
      return operations.verdict(caller, parseArguments(name, args).id, signal);
    case "list_operations":
      return operations.list(caller, parseArguments(name, args));
    case "cancel_operation":
      return operations.cancel(caller, parseArguments(name, args).id);
  }
}

export type ToolAnswer = Awaited<ReturnType<typeof callTool>>;

function parseArguments<N extends ApiOperationName>(name: N, args: JsonObject) {
  const { input } = API_OPERATIONS[name];
  const parsed = input.safeParse(args);
  if (parsed.success) return parsed.data as z.output<(typeof API_OPERATIONS)[N]["input"]>;
  throw invalidRequest(faultsOf(parsed.error, input, "arguments", args));
}

function makeSubmission<U extends PayloadUse>(operation: U, args: JsonObject) {
  const { idempotency_key: key, config, ...others } = args;
  const { data: idempotencyKey, error } = idempotencyKeySchema.optional().safeParse(key);
  if (error) throw invalidRequest([{ path: "idempotency_key", message: error.issues[0]!.message }]);
  if (typeof config !== "string") {
    return { operation, payload: JSON.stringify({ ...others, config }), idempotencyKey };
  }
  try {
    JSON.parse(config);
  } catch {
    // Names the line and column. All other faults are found with those of the payload.
    parseJson(config);
  }
  const members = JSON.stringify(others).slice(1, -1);
  return { operation, payload: `{${members}${members && ","}"config":${config}}`, idempotencyKey };
}
