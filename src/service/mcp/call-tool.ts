import type { ForecastView } from "../../contract/api/forecast-view.ts";
import type { OperationPage, OperationView, VerdictView } from "../../contract/api/operation-view.ts";
import {
  API_OPERATIONS,
  type ApiOperationName,
  idempotencyKeySchema,
} from "../../contract/api/operations.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { faultsOf, invalidRequest } from "../../contract/errors/faults.ts";
import { parseJson } from "../../contract/json/json-text.ts";
import type { Caller } from "../auth/caller.ts";
import type { Operations } from "../operations/operations.ts";

interface ToolCall {
  readonly name: ApiOperationName;
  readonly args: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  readonly traceparent?: string | undefined;
  /** The origin at which the caller reaches the service. */
  readonly origin?: string | undefined;
  /** Aborts when the caller cancels the call, or its connection closes. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a tool.
 * @throws MucastError forbidden without the scope, invalid_request for faulty arguments, and the errors of Operations.
 */
export async function callTool(
  operations: ToolOperations,
  { name, args, caller, traceparent, origin, signal }: ToolCall,
): Promise<OperationView | OperationPage | ForecastView | VerdictView> {
  const { scope } = API_OPERATIONS[name];
  if (!caller.scopes.has(scope)) {
    const held = [...caller.scopes].join(", ") || "none";
    throw new MucastError("forbidden", `${name} needs the scope ${scope}; the credentials have: ${held}`, {
      scope,
    });
  }
  switch (name) {
    case "run_ml_job":
    case "run_dl_job":
    case "audit":
    case "replay":
      return (await operations.submit(caller, { ...makeSubmission(name, args), traceparent, origin }))
        .operation;
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

function parseArguments<N extends Exclude<ApiOperationName, SubmittedOperation>>(
  name: N,
  args: ToolCall["args"],
): ReturnType<(typeof API_OPERATIONS)[N]["input"]["parse"]> {
  const { input } = API_OPERATIONS[name];
  const parsed = input.safeParse(args);
  if (parsed.success) return parsed.data as ReturnType<(typeof API_OPERATIONS)[N]["input"]["parse"]>;
  throw invalidRequest(faultsOf(parsed.error, input, "arguments", args));
}

/**
 * The payload of a job, with the config as the caller's own text.
 * @throws MucastError invalid_request for a key or a text of a config that is faulty.
 */
function makeSubmission(operation: SubmittedOperation, args: ToolCall["args"]) {
  const { idempotency_key: key, config, ...others } = args;
  const { data: idempotencyKey, error } = idempotencyKeySchema.optional().safeParse(key);
  if (error) throw invalidRequest([{ path: "idempotency_key", message: error.issues[0]!.message }]);
  const members = Object.entries(others).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  if (typeof config === "string") checkJson(config);
  if (config !== undefined) {
    members.push(`"config":${typeof config === "string" ? config : JSON.stringify(config)}`);
  }
  return { operation, payload: `{${members.join(",")}}`, idempotencyKey };
}

/** Its other faults are found with those of the payload. @throws MucastError invalid_request, with the line and column. */
function checkJson(text: string): void {
  try {
    JSON.parse(text);
  } catch {
    parseJson(text);
  }
}

/** The operations behind the tools: those of this service, or of another one over HTTP. */
export type ToolOperations = Pick<Operations, "get" | "list" | "cancel" | "forecast" | "verdict"> & {
  submit(...submitted: Parameters<Operations["submit"]>): Promise<{ operation: OperationView }>;
};
