import { isRawNumber } from "../../contract/json/json-text.ts";
import { countedRows } from "../../view/figures.ts";
import { isObject, type Path, type RawJson, valueAt } from "./draft.ts";
import { type JsonSchema, schemaAt } from "./schema.ts";

/** How many candidates a choice has, with the config itself, and how many fits they take. @param path of the list of entries. */
export function candidatesText(tree: RawJson, path: Path, schema: JsonSchema): string {
  const entries = valueAt(tree, path);
  if (!Array.isArray(entries)) return "";
  const numberAt = (at: Path) => numberOf(valueAt(tree, at)) ?? Number(schemaAt(schema, at)?.default ?? 0);
  const count = entries.reduce<number>((sum, entry) => sum + entrySize(entry), 1);
  const [choice, settings] = [path.slice(0, -1), path.slice(0, -2)];
  const words = `${countedRows(count, "candidate")} with the config itself`;
  if (schemaAt(schema, [...settings, "n_splits"]) === undefined) return `${words}.`;
  const folds = numberAt([...settings, "n_splits"]) + numberAt([...choice, "warm_up"]);
  return `${words}, ${countedRows(count * (folds + 1), "fit")} per ticker.`;
}

/** The number of candidates of an entry: the combinations of its grid, its draws, or one. */
function entrySize(entry: RawJson): number {
  const { grid, draws } = isObject(entry) ? entry : {};
  if (!isObject(grid)) return numberOf(draws) ?? 1;
  return Object.values(grid).reduce<number>(
    (size, values) => size * (Array.isArray(values) ? values.length : 1),
    1,
  );
}

function numberOf(value: RawJson | undefined): number | undefined {
  return isRawNumber(value) ? Number(value.rawJSON) : undefined;
}
