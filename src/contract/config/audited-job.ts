import { type Fault, MucastError } from "../errors/errors.ts";
import { invalidRequest } from "../errors/faults.ts";
import { parseJson } from "../json/json-text.ts";
import { JOB_OPERATIONS, type Operation } from "./job-operations.ts";

/** The jobs whose sections a config has, judged by its keys alone. @throws MucastError invalid_request if it is not JSON. */
export function operationsOf(text: string): Operation[] {
  const config = parseJson(text);
  const has = (section: string) =>
    typeof config === "object" && config !== null && Object.hasOwn(config, section);
  return [
    ...(has("ML params") ? (["run_ml_job"] as const) : []),
    ...(has("NN params") ? (["run_dl_job"] as const) : []),
  ];
}

/**
 * The job that an audit examines: the one whose section the config has, or, if it has both, the given one.
 * @param given the member `operation`, or undefined.
 * @param path of that member, for a fault.
 * @throws MucastError invalid_request if the config is ambiguous, or lacks the section of the given job.
 */
export function auditedJob(config: string, given: Operation | undefined, path = "operation"): Operation {
  const held = operationsOf(config);
  const found = given === undefined && held.length < 2 ? held[0] : held.find((name) => name === given);
  if (found !== undefined) return found;
  if (held.length === 2) {
    const message = `must be ${JOB_OPERATIONS.join(" or ")}, because the config contains both sections`;
    throw invalidRequest([{ path, message } satisfies Fault]);
  }
  const message =
    held.length === 0
      ? 'has neither "ML params" nor "NN params"'
      : `has no section of ${JSON.stringify(given)}; it is one of ${held[0]}`;
  throw new MucastError("invalid_request", `config ${message}`, { path: "config" });
}
