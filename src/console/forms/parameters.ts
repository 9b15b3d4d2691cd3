import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import type { FormSchemas, ModelParameter } from "../../contract/api/published-schemas.ts";
import { html, onText, select } from "../../view/html.ts";
import { table } from "../../view/table.ts";
import { faultLine, pathName } from "./faults.ts";
import { useForm } from "./field.ts";
import { isObject, readTree } from "./payload-tree.ts";

const MODEL = ["config", "ML params", "model"];
export const MODEL_PARAMS = ["config", "ML params", "model_params"];

/** The model that a config may call by this name; undefined if there is none. */
export function modelNamed({ models }: FormSchemas, name: unknown): string | undefined {
  const lower = String(name).toLowerCase();
  return Object.hasOwn(models, lower) ? models[lower] : undefined;
}

/** Below the JSON of `model_params`: the parameters of the selected model with their defaults, and a way to insert one. */
export function ModelParameters({ schemas }: { readonly schemas: FormSchemas }): VNode | undefined {
  const { valueAt, set, broken } = useForm();
  const id = useId();
  const [chosen, choose] = useState("");
  const [fault, setFault] = useState<string>();
  const model = modelNamed(schemas, valueAt(MODEL));
  if (model === undefined) return undefined;
  const parameters = schemas.parameters[model]!;
  const parameter = parameters.find(({ name }) => name === chosen) ?? parameters[0]!;
  const { name, byDefault } = parameter;
  const insert = () => {
    const given = valueAt(MODEL_PARAMS);
    if (broken.has(pathName(MODEL_PARAMS)) || (given !== undefined && !isObject(given)))
      return setFault("Fix the JSON above first.");
    if (given !== undefined && Object.hasOwn(given, name)) return setFault(`${name} is already set.`);
    setFault(undefined);
    set([...MODEL_PARAMS, name], readTree(byDefault ?? "null", name));
  };
  const pick = (text: string) => {
    choose(text);
    setFault(undefined);
  };
  return html`<div class="parameters">
    <div class="field">
      <label for=${id}>Add a parameter of ${model}</label>
      <div class="beside">
        ${select(
          name,
          parameters.map((each) => [each.name, each.name] as const),
          {
            id,
            "aria-describedby": `${id}-hint ${id}-fault`,
            onChange: onText(pick),
          },
        )}
        <button type="button" onClick=${insert}>Add</button>
      </div>
      <p class="hint" id=${`${id}-hint`}>${parameterText(parameter)}</p>
      ${faultLine(fault === undefined ? [] : [fault], `${id}-fault`)}
    </div>
    ${parameterTable(model, parameters)}
  </div>`;
}

function parameterText({ takes, choices, byDefault }: ModelParameter): string {
  const type = takes === "" ? "Checked when the model is fitted." : `Type: ${takes}.`;
  const values = choices.length === 0 ? "" : ` One of ${choices.join(", ")}.`;
  return `${type}${values} Default: ${byDefault ?? "chosen by the library"}.`;
}

/** The parameters of a model with their defaults, folded. */
export function parameterTable(model: string, parameters: readonly ModelParameter[]): VNode {
  return html`<details><summary>All ${parameters.length} parameters of ${model} and their defaults</summary>${table<ModelParameter>(
    {
      name: `Parameters of ${model}`,
      kind: "catalogue",
      columns: [
        { title: "Parameter", cell: ({ name }) => name },
        { title: "Default", cell: ({ byDefault }) => byDefault ?? "(library)" },
        {
          title: "Type or values",
          cell: ({ choices, takes }) => (choices.length > 0 ? choices.join(", ") : takes),
        },
      ],
      rows: parameters,
    },
  )}</details>`;
}
