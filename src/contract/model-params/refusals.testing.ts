import { MucastError } from "../errors/errors.ts";
import { rawNumbers } from "../json/json-text.ts";
import { findModel } from "./models.ts";
import { resolveModelParams } from "./resolve.ts";

/** @param params as JSON text, or a value whose numbers are written as JavaScript writes them. */
export function resolve(model: string, params: object | string = {}) {
  const text = typeof params === "string" ? params : JSON.stringify(params);
  return resolveModelParams({ model: findModel(model), rawParams: rawNumbers(text), path: "params" });
}

/** The error for these arguments; undefined if they are accepted. */
export function refusal(model: string, params: object | string): MucastError | undefined {
  try {
    resolve(model, params);
    return undefined;
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
}

/** Code and message of the refusal, or `accepted`. */
export function outcome(model: string, params: object | string): string {
  const error = refusal(model, params);
  return error === undefined ? "accepted" : `${error.code}: ${error.message}`;
}
