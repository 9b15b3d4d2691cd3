import type { VNode } from "preact";
import type { ModelParameter } from "../../contract/api/published-schemas.ts";
import { isRawNumber } from "../../contract/json/json-text.ts";
import { countedRows } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { table } from "../../view/table.ts";
import { isObject, type Path, type RawJson, readTree, valueAt } from "./draft.ts";
import { useForm } from "./fields.ts";
import { type Forms, type JsonSchema, schemaAt } from "./schema.ts";

const ML = ["config", "ML params"];
export const MODEL_PARAMS = [...ML, "model_params"];

/** The model that a config may call by this name; undefined if there is none. */
export function modelNamed({ models }: Forms, name: RawJson | undefined): string | undefined {
  const lower = String(name).toLowerCase();
  return Object.hasOwn(models, lower) ? models[lower] : undefined;
}

/** The parameters of the chosen model with their defaults, each with a button that adds it to `model_params`. */
export function ModelParameters({ forms }: { readonly forms: Forms }): VNode | undefined {
  const { tree, set } = useForm();
  const model = modelNamed(forms, valueAt(tree, [...ML, "model"]));
  if (model === undefined) return undefined;
  const present = valueAt(tree, MODEL_PARAMS) ?? {};
  const parameters = forms.parameters[model]!;
  const add = ({ name, byDefault }: ModelParameter) =>
    set([...MODEL_PARAMS, name], readTree(byDefault ?? "null", name));
  const adding = (parameter: ModelParameter) => {
    if (!isObject(present) || Object.hasOwn(present, parameter.name)) return "";
    return html`<button type="button" aria-label=${`Add ${parameter.name}`} onClick=${() => add(parameter)}>Add</button>`;
  };
  return html`<details class="parameters"><summary>All ${parameters.length} parameters of ${model} and their defaults</summary>${table<ModelParameter>(
    {
      name: `Parameters of ${model}`,
      kind: "catalogue",
      columns: [
        ["Parameter", "text", ({ name }) => name],
        ["Default", "text", ({ byDefault }) => byDefault ?? "(library)"],
        ["Type or values", "text", ({ choices, takes }) => (choices.length > 0 ? choices.join(", ") : takes)],
        { title: "Add", cell: adding },
      ],
      rows: parameters,
    },
  )}</details>`;
}

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
