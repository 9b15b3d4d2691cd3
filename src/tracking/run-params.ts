import { withoutSignature } from "../blob/policy.ts";
import type { OutputSummary } from "../outputs/output-summary.ts";
import { cutText, MLFLOW_LIMITS, mlflowName } from "./mlflow-names.ts";

/** A param or a tag of a run. */
export interface NamedText {
  readonly key: string;
  readonly value: string;
}

/** More settings than a config has; the output has all of them. */
const MAX_PARAMS = 1_000;

/**
 * The resolved configuration of a job as params, names joined with dots: `model_params.num_leaves`. Lists are JSON. Also the window, the
 * seed and the device.
 */
export function runParams({ model, window, provenance }: OutputSummary): NamedText[] {
  const { seed, device } = provenance;
  const values = new Map<string, string>();
  for (const [path, value] of [...leaves(model, ""), ...leaves({ window, seed, device }, "")]) {
    if (values.size === MAX_PARAMS) break;
    values.set(unusedName(values, mlflowName(path)), cutText(withoutSignature(value), MLFLOW_LIMITS.param));
  }
  return [...values].map(([key, value]) => ({ key, value }));
}

/** The values that are not objects, each with its path. */
function* leaves(object: object, prefix: string): Generator<readonly [path: string, value: string]> {
  for (const [key, value] of Object.entries(object)) {
    const path = prefix === "" ? key : `${prefix}.${key}`;
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isObject && Object.keys(value).length > 0) yield* leaves(value, path);
    else if (value !== undefined) yield [path, typeof value === "string" ? value : JSON.stringify(value)];
  }
}

/** MLflow refuses a second value of a name. Two keys may differ only in characters that it does not accept. */
function unusedName(used: ReadonlyMap<string, string>, name: string): string {
  let unused = name;
  for (let n = 2; used.has(unused); n++) unused = `${name.slice(0, MLFLOW_LIMITS.name - 6)}.${n}`;
  return unused;
}
