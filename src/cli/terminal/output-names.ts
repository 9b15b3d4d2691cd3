import { cut } from "../../contract/errors/faults.ts";
import { modelNameOf, type OutputSummary } from "../../outputs/output-summary.ts";

/** More settings, or longer ones, would not fit into a table. */
const MAX_SETTINGS = 3;
const MAX_VALUE = 20;

/** Names that tell outputs apart: by their model, if that is the same by their tags, and if these are the same by settings that differ. */
export function outputNames(outputs: readonly OutputSummary[]): string[] {
  const byModel = outputs.map(modelNameOf);
  const byTags = withDetails(byModel, (i) => (outputs[i]!.tags ?? []).map((tag) => `(${tag})`));
  const settings = outputs.map(({ model }) => leavesOf(model));
  return withDetails(byTags, (i, same) => {
    const differing = [...settings[i]!].filter(([path, value]) =>
      same.some((k) => settings[k]!.get(path) !== value),
    );
    return differing
      .slice(0, MAX_SETTINGS)
      .map(([path, value]) => `${path.split(".").at(-1)}=${cut(value.replaceAll('"', ""), MAX_VALUE)}`);
  });
}

/** Adds details to names that several outputs have. */
function withDetails(
  names: readonly string[],
  detailsOf: (i: number, same: readonly number[]) => string[],
): string[] {
  return names.map((name, i) => {
    const same = names.flatMap((other, k) => (other === name ? [k] : []));
    return same.length === 1 ? name : [name, ...detailsOf(i, same)].join(" ");
  });
}

/** The JSON of each value in an object, by the path to it. */
function leavesOf(value: unknown, path = ""): Map<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return new Map([[path, JSON.stringify(value)]]);
  return new Map(
    Object.entries(value).flatMap(([key, member]) => [
      ...leavesOf(member, path === "" ? key : `${path}.${key}`),
    ]),
  );
}
