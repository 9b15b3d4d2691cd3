import type { OutputBlob } from "../contract/output/output-blob.ts";
import { checkValue } from "./checks.ts";
import { SCHEMAS } from "./output-schema.ts";

/**
 * Checks a parsed output blob against the published schema and returns it. Members and codes of later versions are kept.
 * @throws TypeError with the path and the value if it is not a `mucast.forecast/1`.
 */
export function readOutput(value: unknown): OutputBlob {
  try {
    checkValue(value, SCHEMAS.OutputBlob!, SCHEMAS);
  } catch (error) {
    throw new TypeError(`this is not an output of mucast: ${(error as TypeError).message}`);
  }
  return value as OutputBlob;
}
