import type { z } from "zod";
import {
  type OperationView,
  type VerdictView,
  verdictViewSchema,
} from "../../contract/api/operation-view.ts";
import { VERDICT_OPERATIONS, type VerdictOperation } from "../../contract/config/job-operations.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { readWholeJson } from "../../contract/json/json-text.ts";
import { SIZES } from "../../contract/schema/answer-limits.ts";
import { openSchema } from "../../contract/schema/open-schema.ts";
import type { Caller } from "../auth/caller.ts";
import type { Blobs } from "../blobs/blobs.ts";

const OPEN = openSchema(verdictViewSchema) as z.ZodType<VerdictView>;

/** The verdict operation of an operation; undefined for a job. */
export function verdictOperation({ operation }: OperationView): VerdictOperation | undefined {
  return VERDICT_OPERATIONS.find((name) => name === operation);
}

/**
 * Reads the verdict of an operation of the caller.
 * @throws MucastError other_result for a job; no_result if it has not succeeded; not_found if its blob is gone; invalid_data for a
 * blob that is not a verdict; errors of reading it.
 */
export async function readVerdict(
  blobs: Pick<Blobs, "find">,
  caller: Caller,
  operation: OperationView,
  signal?: AbortSignal,
): Promise<VerdictView> {
  const { id, status, result } = operation;
  const kind = verdictOperation(operation);
  if (kind === undefined) {
    const message = `operation ${id} is of ${operation.operation}, which gives forecasts and no verdict`;
    throw new MucastError("other_result", message, { path: "id", operation: operation.operation });
  }
  if (result === null) {
    const message = `operation ${id} is ${status}, and only one that is Succeeded has a verdict`;
    throw new MucastError("no_result", message, { path: "id", operation_status: status });
  }
  const name = result.output_name;
  const address = await blobs.find(caller, name);
  const blob = await address?.store.stat(address.key);
  if (address === undefined || blob === undefined) {
    throw new MucastError("not_found", `the verdict ${name} is no longer there`, { path: "id" });
  }
  if (blob.size > SIZES.verdict) throw noVerdict(name);
  const read = await readWholeJson(
    address.store.read(address.key, { etag: blob.etag, signal }),
    SIZES.verdict,
  );
  const view = { id, operation: kind, output_name: name, [kind]: "value" in read ? read.value : undefined };
  const { success, data } = OPEN.safeParse(view);
  if (!success || data[kind] === undefined) throw noVerdict(name);
  return data;
}

function noVerdict(name: string): MucastError {
  return new MucastError("invalid_data", `${name} is not a verdict of mucast`, { source: name });
}
