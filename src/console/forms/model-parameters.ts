import type { VNode } from "preact";
import type { ModelParameter } from "../../contract/api/published-schemas.ts";
import { html } from "../../view/html.ts";
import { table } from "../../view/table.ts";
import { isObject, type RawJson, readTree, valueAt } from "./draft.ts";
import { useForm } from "./fields.ts";
import type { Forms } from "./schema.ts";

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
