import type { OperationView } from "../../contract/api/operation-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { Blobs, FoundBlob } from "../blobs/blobs.ts";
import { verdictOperation } from "../verdict/verdicts.ts";

/** The output of a job, as currently stored. */
export interface JobOutput extends FoundBlob {
  readonly name: string;
  readonly etag: string;
}

/**
 * Finds the output of an operation.
 * @param operation an operation of the caller. @param what the requested part of the output.
 * @throws MucastError other_result for an audit or a replay; no_result if it has not succeeded; not_found if its output is gone.
 */
export async function jobOutput(
  blobs: Pick<Blobs, "find">,
  caller: Caller,
  operation: OperationView,
  what: "forecast" | "report",
): Promise<JobOutput> {
  const { id, status, result } = operation;
  if (verdictOperation(operation) !== undefined) {
    const message = `operation ${id} is of ${operation.operation}, which gives a verdict and no ${what}`;
    throw new MucastError("other_result", message, { path: "id", operation: operation.operation });
  }
  if (result === null) {
    const message = `operation ${id} is ${status}, and only one that is Succeeded has a ${what}`;
    throw new MucastError("no_result", message, { path: "id", operation_status: status });
  }
  const name = result.output_name;
  const found = await blobs.find(caller, name);
  const blob = await found?.store.stat(found.key);
  if (found === undefined || blob === undefined) throw outputGone(name);
  return { ...found, name, etag: blob.etag };
}

export function outputGone(name: string): MucastError {
  return new MucastError("not_found", `the output ${name} is no longer there`, { path: "id" });
}
