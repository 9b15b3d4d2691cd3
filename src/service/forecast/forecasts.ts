import { FORECAST_LIMITS, type ForecastQuery, type ForecastView } from "../../contract/api/forecast-view.ts";
import type { OperationView } from "../../contract/api/operation-view.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { Blobs, FoundBlob } from "../blobs/blobs.ts";
import { verdictOperation } from "../verdict/verdicts.ts";
import { readForecast } from "./read-forecast.ts";

/** Maximum number of parallel reads. The service reads a whole output, which may be some hundred megabytes. */
const MAX_READS = 4;
const RETRY_SECONDS = 1;
/** Answers of some kilobytes each. They stay valid, since an output never changes. */
const ANSWERS_KEPT = 32;

/** Reads forecasts from the outputs of operations that have succeeded. */
export class Forecasts {
  readonly #blobs: Pick<Blobs, "find">;
  readonly #answers = new Map<string, ForecastView>();
  #reads = 0;

  constructor(blobs: Pick<Blobs, "find">) {
    this.#blobs = blobs;
  }

  /**
   * Reads the forecasts of the wanted tickers from the output of an operation.
   * @param operation an operation of the caller.
   * @throws MucastError other_result for an audit or a replay; no_result if it has not succeeded; not_found if its output is gone;
   * unavailable if too many requests read outputs; errors of reading the output.
   */
  async of(
    caller: Caller,
    operation: OperationView,
    { tickers, limit = FORECAST_LIMITS.default }: ForecastQuery,
    signal?: AbortSignal,
  ): Promise<ForecastView> {
    const { name, etag, store, key: blobKey } = await jobOutput(this.#blobs, caller, operation, "forecast");
    const wanted = tickers === undefined ? { largest: limit } : { tickers };
    const key = JSON.stringify([caller.subject, name, etag, wanted]);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    if (this.#reads >= MAX_READS) throw tooBusy();
    this.#reads++;
    try {
      const view = await readForecast(name, store.read(blobKey, { etag, signal }), wanted);
      this.#keep(key, view);
      return view;
    } finally {
      this.#reads--;
    }
  }

  #keep(key: string, view: ForecastView): void {
    this.#answers.set(key, view);
    if (this.#answers.size > ANSWERS_KEPT) this.#answers.delete(this.#answers.keys().next().value!);
  }
}

function tooBusy(): MucastError {
  const message = `${MAX_READS} other requests read an output; try again later`;
  return new MucastError("unavailable", message, { retryAfter: RETRY_SECONDS });
}

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
  if (found === undefined || blob === undefined) throw outputGone([name]);
  return { ...found, name, etag: blob.etag };
}

/** @param names of one output, or of several, one of which is gone. */
export function outputGone(names: readonly string[]): MucastError {
  const which =
    names.length === 1 ? `the output ${names[0]} is` : `one of the outputs ${names.join(", ")} is`;
  return new MucastError("not_found", `${which} no longer there`, { path: "id" });
}
