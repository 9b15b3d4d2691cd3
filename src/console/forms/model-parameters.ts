import type { FormSchemas, ModelParameter } from "../../contract/api/published-schemas.ts";
import { element, fill } from "../dom.ts";
import { faultLine, newId } from "./fields/field-control.ts";
import { isObject, readTree } from "./fields/payload-tree.ts";
import type { PayloadForm } from "./payload/payload-form.ts";

const MODEL = ["config", "ML params", "model"];
const MODEL_PARAMS = ["config", "ML params", "model_params"];

/** Below the JSON of `model_params`: the parameters of the selected model with their defaults, and a way to insert one. */
export function addModelParameters(form: PayloadForm, schemas: FormSchemas): void {
  const control = form.controls.find(({ field }) => field.path.join() === MODEL_PARAMS.join());
  if (control === undefined) return;
  const place = element("div", { class: "parameters" });
  control.element.append(place);
  let listed: string | undefined;
  const show = () => {
    const named = form.valueAt(MODEL);
    const model = typeof named === "string" ? modelNamed(schemas, named) : undefined;
    if (model === listed) return;
    listed = model;
    fill(place, ...(model === undefined ? [] : parametersOf(model, schemas.parameters[model]!, form)));
  };
  form.onChange = show;
  show();
}

/** The model that a config may call by this name; undefined if there is none. */
export function modelNamed({ models }: FormSchemas, name: string): string | undefined {
  const lower = name.toLowerCase();
  return Object.hasOwn(models, lower) ? models[lower] : undefined;
}

function parametersOf(
  model: string,
  parameters: readonly ModelParameter[],
  form: PayloadForm,
): HTMLElement[] {
  const id = newId();
  const about = element("p", { class: "hint", id: `${id}-hint` });
  const fault = faultLine(`${id}-fault`);
  const chosen = element(
    "select",
    { id, "aria-describedby": `${id}-hint ${id}-fault` },
    ...parameters.map(({ name }) => element("option", { value: name }, name)),
  );
  const add = element("button", { type: "button" }, "Add");
  const found = () => parameters.find(({ name }) => name === chosen.value)!;
  const tell = () => {
    fault.show([]);
    fill(about, parameterText(found()));
  };
  chosen.addEventListener("change", tell);
  add.addEventListener("click", () => fault.show(insertParameter(form, found())));
  tell();
  return [
    element(
      "div",
      { class: "field" },
      element("label", { for: id }, `Add a parameter of ${model}`),
      element("div", { class: "beside" }, chosen, add),
      about,
      fault.element,
    ),
    parameterTable(model, parameters),
  ];
}

/** Inserts a parameter with its default. @returns why it could not. */
function insertParameter(form: PayloadForm, { name, byDefault }: ModelParameter): string[] {
  const given = form.valueAt(MODEL_PARAMS);
  const broken = form.controls.find(({ field }) => field.path.join() === MODEL_PARAMS.join())?.broken;
  if (broken !== undefined || (given !== undefined && !isObject(given))) return ["Fix the JSON above first."];
  if (given !== undefined && Object.hasOwn(given, name)) return [`${name} is already set.`];
  form.set([...MODEL_PARAMS, name], readTree(byDefault ?? "null", name));
  return [];
}

function parameterText({ takes, choices, byDefault }: ModelParameter): string {
  const sentences = [
    takes === "" ? "Checked when the model is fitted." : `Type: ${takes}.`,
    ...(choices.length === 0 ? [] : [`One of ${choices.join(", ")}.`]),
    byDefault === null ? "Default: chosen by the library." : `Default: ${byDefault}.`,
  ];
  return sentences.join(" ");
}

/** The parameters of a model with their defaults, folded. */
export function parameterTable(model: string, parameters: readonly ModelParameter[]): HTMLElement {
  const rows = parameters.map(({ name, takes, choices, byDefault }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element("td", {}, byDefault ?? "(library)"),
      element("td", {}, choices.length > 0 ? choices.join(", ") : takes),
    ),
  );
  const heads = ["Parameter", "Default", "Type or values"].map((words) =>
    element("th", { scope: "col" }, words),
  );
  const table = element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...rows),
  );
  return element(
    "details",
    {},
    element("summary", {}, `All ${parameters.length} parameters of ${model} and their defaults`),
    element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": `Parameters of ${model}` },
      table,
    ),
  );
}
