import { MucastApiError, type OperationView, type Problem } from "../../client/index.ts";
import type { ViewContext } from "../view.ts";
import { operationName } from "../words.ts";
import { payloadOf, recordedRequest } from "./recorded-request.ts";

/** The forms that submit each operation. */
const FORMS: Readonly<Record<string, string>> = {
  run_ml_job: "#/job",
  run_dl_job: "#/job",
  audit: "#/audit",
  replay: "#/replay",
};

/** The address of the form that submits an operation again; undefined for an operation of a later service. */
export function againAddress({ id, operation }: OperationView): string | undefined {
  return Object.hasOwn(FORMS, operation) ? `${FORMS[operation]}?again=${id}` : undefined;
}

/** The payload of an earlier operation, with which a form starts. */
export interface EarlierPayload {
  readonly operation: OperationView;
  /** JSON text. */
  readonly initial: string;
  /** What the reader has to know about it. */
  readonly note: string;
  /** Why the operation failed, with the paths of the payload. */
  readonly problem: Problem | undefined;
}

/** Reads the payload of the operation that the address names as `again`; undefined if it names none. */
export async function earlierPayload(context: ViewContext): Promise<EarlierPayload | undefined> {
  const { client, params, signal } = context;
  const id = params.get("again");
  if (id === null) return undefined;
  const operation = await client.getOperation(id, { signal });
  const problem =
    operation.status === "Failed" && operation.error !== null ? withPayloadPaths(operation.error) : undefined;
  const stored = await storedPayload(operation, context);
  const initial = stored?.text ?? "{}";
  return { operation, initial, note: sourceNote(operation, stored, context.baseUrl), problem };
}

/** The payload of an operation that was submitted before. */
export interface StoredPayload {
  /** JSON text. */
  readonly text: string;
  /** Where it is stored. The output of a job has no window. */
  readonly source: "service" | "output";
}

/** Reads the payload that the service has kept, or that the output of a job records; undefined if there is none. */
export async function storedPayload(
  operation: OperationView,
  context: ViewContext,
): Promise<StoredPayload | undefined> {
  const { client, signal } = context;
  try {
    return { text: await client.getPayload(operation.id, { signal }), source: "service" };
  } catch (error) {
    if (!(error instanceof MucastApiError && error.code === "not_found")) throw error;
    const text = await recordedPayload(operation, context);
    return text === undefined ? undefined : { text, source: "output" };
  }
}

/** What the output of a job records, if an earlier version of the service stored its operation. */
async function recordedPayload(
  { result, operation, tags }: OperationView,
  { client, signal, baseUrl }: ViewContext,
): Promise<string | undefined> {
  if (result === null || FORMS[operation] !== "#/job") return undefined;
  const recorded = await recordedRequest(client, result.output_name, { baseUrl, signal }).catch(
    () => undefined,
  );
  return recorded && payloadOf(recorded, tags === undefined ? [] : [["tags", JSON.stringify(tags)]]);
}

function sourceNote(operation: OperationView, stored: StoredPayload | undefined, baseUrl: string): string {
  const name = operationName(operation);
  if (stored === undefined) return `The payload of ${name} is not stored, so the form is empty.`;
  return stored.source === "service"
    ? noteOf(name, stored.text, baseUrl)
    : `Filled in from the output of ${name}, which records the inputs and the config. Check the dates of the window.`;
}

/** @param payload JSON text. */
function noteOf(name: string, payload: string, baseUrl: string): string {
  const members = JSON.parse(payload) as Readonly<Record<string, unknown>>;
  const isForeign = Object.values(members).some(
    (value) => typeof value === "string" && /^(?:https?|s3):\/\//.test(value) && !value.startsWith(baseUrl),
  );
  const lacksConfig = members.output_url === undefined && members.config === undefined;
  return [
    `Filled in from ${name}. Change what you want before you submit it.`,
    ...(isForeign
      ? ["Queries of URLs, such as signatures, are not stored: add them if the inputs need them."]
      : []),
    ...(lacksConfig ? ["Its config contained a signature and is not stored: enter it below."] : []),
  ].join(" ");
}

/** A job names the places in its config from the section, a form from the payload. */
export function withPayloadPaths(problem: Problem): Problem {
  const { path, faults } = problem;
  return {
    ...problem,
    ...(path === undefined ? {} : { path: payloadPath(path) }),
    ...(faults === undefined
      ? {}
      : { faults: faults.map((fault) => ({ ...fault, path: payloadPath(fault.path) })) }),
  };
}

function payloadPath(path: string): string {
  return /^(?:ML|NN) params(?![^.[])/.test(path) ? `config.${path}` : path;
}
