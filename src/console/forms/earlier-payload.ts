import type { Problem } from "../../client/index.ts";
import type { ViewContext } from "../view.ts";
import { runName } from "../words.ts";
import { draftValue, readDraft, withMembers } from "./draft.ts";
import { storedPayload } from "./settings.ts";

/** The payload with which a form starts, from another operation. */
export interface EarlierPayload {
  readonly operation: string;
  /** JSON text. */
  readonly text: string;
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
  const name = runName(operation);
  const text = await storedPayload(client, id, signal);
  const { error, status } = operation;
  return {
    operation: operation.operation,
    text: text ?? "{}",
    note: text === undefined ? missing(name) : filledIn(name, text, baseUrl),
    problem: status === "Failed" && error !== null ? withPayloadPaths(error) : undefined,
  };
}

/** The members of a job that an audit of its inputs has too. */
const AUDITED = ["feature_url", "data_extractor_url", "config", "start", "end", "learning_end"];

/** The payload of an audit of the job that the address names as `operation`, with the bytes of its config; undefined if it names none. */
export async function auditedPayload(context: ViewContext): Promise<EarlierPayload | undefined> {
  const { client, params, signal, baseUrl } = context;
  const id = params.get("operation");
  if (id === null) return undefined;
  const operation = await client.getOperation(id, { signal });
  const name = runName(operation);
  const text = await storedPayload(client, id, signal);
  if (text === undefined) return { operation: "audit", text: "{}", note: missing(name), problem: undefined };
  const job = readDraft(text);
  const members = AUDITED.filter((member) => job.written.has(member));
  const audit = withMembers(
    readDraft("{}"),
    Object.fromEntries(members.map((member) => [member, draftValue(job, [member])])),
    job.written,
  );
  const note = `${filledIn(name, text, baseUrl)} If a blob has been replaced since, the audit reads the new one.`;
  return { operation: "audit", text: audit.text, note, problem: undefined };
}

/** The payload of a replay of the output that the address names: as `output`, its URL, or of the job `operation`; undefined if it names none. */
export async function replayedPayload({
  client,
  params,
  signal,
}: ViewContext): Promise<EarlierPayload | undefined> {
  const id = params.get("operation");
  const url =
    id === null ? params.get("output") : (await client.getOperation(id, { signal })).result?.output_url;
  const text = JSON.stringify({ output_url: url }, null, 2);
  return url == null ? undefined : { operation: "replay", text, note: "", problem: undefined };
}

function missing(name: string): string {
  return `The payload of ${name} is not stored, so the form is empty.`;
}

function filledIn(name: string, payload: string, baseUrl: string): string {
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
