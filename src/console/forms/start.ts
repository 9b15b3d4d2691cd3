import { MucastApiError, type MucastClient, type Problem } from "../../client/index.ts";
import { membersOf } from "../../contract/json/json-text.ts";
import type { ViewContext } from "../view.ts";
import { runName } from "../words.ts";
import type { FormName } from "./submit-form.ts";

/** The payload with which a form starts, by its address. */
export interface Start {
  readonly operation: string;
  /** JSON text. */
  readonly text: string;
  /** What the reader has to know about it. */
  readonly note?: string;
  /** Why the operation that had it failed. */
  readonly problem?: Problem | undefined;
}

/** The members of a job that an audit of its inputs has too. */
const AUDITED = ["feature_url", "data_extractor_url", "config", "start", "end", "learning_end"];
const REPLACED = "If a blob has been replaced since, the audit reads the new one.";

/**
 * Reads what the address of a form names: as `again` the operation whose payload the form repeats, as `operation` the job that an audit or a
 * replay checks, or as `output` the URL of an output to replay. Undefined if it names none.
 */
export async function readStart(form: FormName, context: ViewContext): Promise<Start | undefined> {
  const { client, params, signal } = context;
  const [again, job, output] = [params.get("again"), params.get("operation"), params.get("output")];
  const id = again ?? (form === "job" ? null : job);
  if (id === null) return form === "replay" && output !== null ? replayOf(output) : undefined;
  const run = await client.getOperation(id, { signal });
  if (form === "replay" && again === null) return replayOf(run.result?.output_url);
  const operation = again === null ? form : run.operation;
  const name = runName(run);
  const stored = await storedPayload(client, id, signal);
  if (stored === undefined)
    return { operation, text: "{}", note: `The payload of ${name} is not stored, so the form is empty.` };
  const note = `Filled in from ${name}. Change what you want before you submit it. ${lostWords(stored, context)}`;
  if (again === null) {
    const members = [...membersOf(stored)].filter(([member]) => AUDITED.includes(member));
    const lines = members.map(([member, text]) => `  ${JSON.stringify(member)}: ${text}`);
    return { operation, text: `{\n${lines.join(",\n")}\n}`, note: `${note} ${REPLACED}` };
  }
  const problem = run.status === "Failed" && run.error !== null ? withPayloadPaths(run.error) : undefined;
  return { operation, text: stored, note, problem };
}

function replayOf(url: string | undefined): Start {
  return { operation: "replay", text: JSON.stringify({ output_url: url }, null, 2) };
}

/** The JSON text of a payload that the service has kept; undefined if it has none. */
export function storedPayload(
  client: MucastClient,
  id: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  return client.getPayload(id, { signal }).catch((error: unknown) => {
    if (error instanceof MucastApiError && error.code === "not_found") return undefined;
    throw error;
  });
}

/** What the service has not stored of a payload. */
function lostWords(text: string, { baseUrl }: ViewContext): string {
  const payload = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (payload.output_url === undefined && payload.config === undefined)
    return "Its config contained a signature and is not stored: enter it below.";
  const isForeign = (value: unknown) =>
    typeof value === "string" && /^(?:https?|s3):\/\//.test(value) && !value.startsWith(baseUrl);
  return Object.values(payload).some(isForeign)
    ? "Queries of URLs, such as signatures, are not stored: add them if the inputs need them."
    : "";
}

/** A job names the places in its config from the section, a form from the payload. */
export function withPayloadPaths(problem: Problem): Problem {
  const payloadPath = (path: string) => (/^(?:ML|NN) params(?![^.[])/.test(path) ? `config.${path}` : path);
  return {
    ...problem,
    ...(problem.path !== undefined && { path: payloadPath(problem.path) }),
    ...(problem.faults && {
      faults: problem.faults.map((fault) => ({ ...fault, path: payloadPath(fault.path) })),
    }),
  };
}
