import type { z } from "zod";
import { FORECAST_LIMITS, type ForecastQuery, type ForecastView } from "../../contract/api/forecast-view.ts";
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
import { readForecast } from "./read-forecast.ts";

/** Maximum number of parallel reads. The service reads a whole output, which may be some hundred megabytes. */
const MAX_READS = 4;
const RETRY_SECONDS = 1;
/** Answers of some kilobytes each. They stay valid, since an output never changes. */
const ANSWERS_KEPT = 32;

export class Forecasts {
  readonly #blobs: Pick<Blobs, "find">;
  readonly #answers = new Map<string, ForecastView>();
  #reads = 0;

  constructor(blobs: Pick<Blobs, "find">) {
    this.#blobs = blobs;
  }

  async of(
    caller: Caller,
    operation: OperationView,
    { tickers, limit = FORECAST_LIMITS.default }: ForecastQuery,
    signal?: AbortSignal,
  ): Promise<ForecastView> {
    const { name, etag, store, key: blobKey } = await findOutput(this.#blobs, caller, operation, "forecast");
    const wanted = tickers === undefined ? { largest: limit } : { tickers };
    const key = JSON.stringify([caller.subject, name, etag, wanted]);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    if (this.#reads >= MAX_READS) {
      const message = `${MAX_READS} other requests read an output; try again later`;
      throw new MucastError("unavailable", message, { retryAfter: RETRY_SECONDS });
    }
    this.#reads++;
    try {
      const view = await readForecast(name, store.read(blobKey, { etag, signal }), wanted);
      this.#answers.set(key, view);
      if (this.#answers.size > ANSWERS_KEPT) this.#answers.delete(this.#answers.keys().next().value!);
      return view;
    } finally {
      this.#reads--;
    }
  }

  async verdict(caller: Caller, operation: OperationView, signal?: AbortSignal): Promise<VerdictView> {
    const { name, etag, store, key } = await findOutput(this.#blobs, caller, operation, "verdict");
    const read = await readWholeJson(store.read(key, { etag, signal }), SIZES.verdict);
    const kind = verdictOperation(operation)!;
    const value = "value" in read ? read.value : undefined;
    const view = { id: operation.id, operation: kind, output_name: name, [kind]: value };
    const { success, data } = openVerdict.safeParse(view);
    if (success && data[kind] !== undefined) return data;
    throw new MucastError("invalid_data", `${name} is not a verdict of mucast`, { source: name });
  }
}

const openVerdict = openSchema(verdictViewSchema) as z.ZodType<VerdictView>;

export function verdictOperation({ operation }: OperationView): VerdictOperation | undefined {
  return VERDICT_OPERATIONS.find((name) => name === operation);
}

export async function findOutput(
  blobs: Pick<Blobs, "find">,
  caller: Caller,
  operation: OperationView,
  what: "forecast" | "report" | "verdict",
) {
  const { id, status, result } = operation;
  const isVerdict = verdictOperation(operation) !== undefined;
  if (isVerdict !== (what === "verdict")) {
    const gives = isVerdict ? "a verdict" : "forecasts";
    const message = `operation ${id} is of ${operation.operation}, which gives ${gives} and no ${what}`;
    throw new MucastError("other_result", message, { path: "id", operation: operation.operation });
  }
  if (result === null) {
    const message = `operation ${id} is ${status}, and only one that is Succeeded has a ${what}`;
    throw new MucastError("no_result", message, { path: "id", operation_status: status });
  }
  const name = result.output_name;
  const found = await blobs.find(caller, name);
  const blob = await found?.store.stat(found.key);
  if (found !== undefined && blob !== undefined) return { ...found, ...blob, name };
  throw outputGone([name], isVerdict ? "verdict" : "output");
}

export function outputGone(names: readonly string[], what: "output" | "verdict" = "output"): MucastError {
  const which =
    names.length === 1 ? `the ${what} ${names[0]} is` : `one of the outputs ${names.join(", ")} is`;
  return new MucastError("not_found", `${which} no longer there`, { path: "id" });
}
