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
  const { client, params, signal, baseUrl } = context;
  const id = params.get("again");
  if (id === null) return undefined;
  const operation = await client.getOperation(id, { signal });
  const name = operationName(operation);
  const problem =
    operation.status === "Failed" && operation.error !== null ? withPayloadPaths(operation.error) : undefined;
  try {
    const initial = await client.getPayload(id, { signal });
    return { operation, initial, note: noteOf(name, initial, baseUrl), problem };
  } catch (error) {
    if (!(error instanceof MucastApiError && error.code === "not_found")) throw error;
    return { operation, ...(await recordedPayload(operation, context)), problem };
  }
}

/** What the output of a job records, if an earlier version of the service stored its operation. */
async function recordedPayload(
  { result, operation, id, tags }: OperationView,
  { client, signal, baseUrl }: ViewContext,
): Promise<Pick<EarlierPayload, "initial" | "note">> {
  const name = operationName({ operation, id });
  const isJob = FORMS[operation] === "#/job";
  const recorded =
    result === null || !isJob
      ? undefined
      : await recordedRequest(client, result.output_name, { baseUrl, signal }).catch(() => undefined);
  if (recorded === undefined)
    return { initial: "{}", note: `The payload of ${name} is not stored, so the form is empty.` };
  const initial = payloadOf(recorded, tags === undefined ? [] : [["tags", JSON.stringify(tags)]]);
  return {
    initial,
    note: `Filled in from the output of ${name}, which records the inputs and the config. Check the dates of the window.`,
  };
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
