import type { FormSchemas } from "../../../contract/api/published-schemas.ts";
import type { RawJson } from "../../../contract/json/json-text.ts";
import { element, fill } from "../../dom.ts";
import { counted, textElement } from "../../words.ts";
import { faultLine, nameOf, newId } from "../fields/field-control.ts";
import type { Path } from "../fields/payload-tree.ts";
import { parameterTable } from "../model-parameters.ts";
import type { PayloadForm } from "../payload/payload-form.ts";
import {
  choiceSize,
  entrySize,
  entryWords,
  numberOf,
  readGrid,
  sizeFaults,
  sizeWords,
} from "./candidate-entries.ts";
import { type CandidateKind, candidateKind } from "./candidate-kinds.ts";

/** Below the JSON of `choice.candidates`: its entries, how many fits they take, and a way to add one or remove one. */
export function addCandidateEditor(form: PayloadForm, schemas: FormSchemas): void {
  const kind = candidateKind(form);
  if (kind === undefined) return;
  const candidates = [...kind.root, "choice", "candidates"];
  const control = controlAt(form, candidates)!;
  const entriesNow = () => entriesOf(form, candidates);
  const list = element("ol", { class: "candidates" });
  const size = element("p", { role: "status" });
  const fault = faultLine(newId());
  const write = (entries: readonly RawJson[]): boolean =>
    control.broken === undefined &&
    (form.valueAt(candidates) === undefined || entriesNow() !== undefined) &&
    form.set(candidates, entries.length === 0 ? undefined : entries);
  const adding = entryFields(form, kind, schemas, (entry) => write([...(entriesNow() ?? []), entry]));
  const remove = (index: number) => {
    if (!write(entriesNow()!.filter((_, i) => i !== index))) return;
    const buttons = list.querySelectorAll("button");
    (buttons[Math.min(index, buttons.length - 1)] ?? adding.first).focus();
  };
  let shown: string | undefined;
  const show = () => {
    const entries = entriesNow() ?? [];
    const total = choiceSize(entries, foldsOf(form, kind));
    const text = JSON.stringify([entries, total]);
    adding.show();
    if (text === shown) return;
    shown = text;
    fill(list, ...entries.map((entry, i) => entryItem(entry, i, () => remove(i))));
    fill(size, entries.length > 0 && sizeWords(total));
    fault.show(sizeFaults(total));
  };
  control.element.append(list, size, fault.element, adding.element);
  const before = form.onChange;
  form.onChange = () => {
    before();
    show();
  };
  show();
}

function controlAt(form: PayloadForm, path: Path) {
  return form.controls.find(({ field }) => field.path.join("\0") === path.join("\0"));
}

/** The entries in the form; undefined if the member is not a list. */
function entriesOf(form: PayloadForm, candidates: Path): readonly RawJson[] | undefined {
  const value = form.valueAt(candidates);
  return Array.isArray(value) ? value : undefined;
}

/** The number of folds of each candidate; undefined if it has none. */
function foldsOf(form: PayloadForm, { folds }: CandidateKind): number | undefined {
  return folds?.reduce((sum, path) => {
    const byDefault = Number(controlAt(form, path)?.field.byDefault ?? 0);
    return sum + (numberOf(form.valueAt(path)) ?? byDefault);
  }, 0);
}

function entryItem(entry: RawJson, index: number, onRemove: () => void): HTMLElement {
  const count = entrySize(entry);
  return element(
    "li",
    {},
    textElement(entryWords(entry), 400),
    count === 1 ? "" : ` (${counted(count, "candidate")})`,
    " ",
    element(
      "button",
      { type: "button", "aria-label": `Remove entry ${index + 1}`, onclick: onRemove },
      "Remove",
    ),
  );
}

interface EntryFields {
  readonly element: HTMLElement;
  /** Its first control. */
  readonly first: HTMLElement;
  /** Shows the parameters of the model. */
  show(): void;
}

/** The fields of a new entry. @param add @returns whether the form took it. */
function entryFields(
  form: PayloadForm,
  kind: CandidateKind,
  schemas: FormSchemas,
  add: (entry: RawJson) => boolean,
): EntryFields {
  const { root, noun } = kind;
  const model = selectFor(form, [...root, kind.model], kind.model, `(${noun} of this config)`);
  const settings = kind.settings.map((name) => selectFor(form, [...root, name], name, "(as in this config)"));
  const id = newId();
  const fault = faultLine(`${id}-fault`);
  const grid = element("textarea", {
    ...{ id, rows: 3, class: "code", maxlength: 4_000, autocomplete: "off", spellcheck: "false" },
    "aria-describedby": `${id}-hint ${id}-fault`,
  });
  const place = element("div", { class: "parameters" });
  const ofConfig = () => {
    const named = form.valueAt([...root, kind.model]);
    return typeof named === "string" ? kind.named(named, schemas) : undefined;
  };
  const nameOfModel = () =>
    (model.select.value === "" ? undefined : kind.named(model.select.value, schemas)) ?? ofConfig();
  let listed: string | undefined;
  const show = () => {
    // The form lists the parameters of the config's own model already.
    const name = nameOfModel() === ofConfig() ? undefined : nameOfModel();
    if (name === listed) return;
    listed = name;
    const parameters = name === undefined ? undefined : kind.catalogue(name, schemas);
    fill(place, ...(parameters === undefined ? [] : [parameterTable(name!, parameters)]));
  };
  model.select.addEventListener("change", show);
  const button = element("button", { type: "button" }, "Add to the candidates");
  button.addEventListener("click", () => {
    try {
      const name = nameOfModel();
      const known = name === undefined ? undefined : kind.parameters(name, schemas, form);
      const values = checkedGrid(grid.value, name, known);
      const chosen = [model, ...settings].flatMap(({ name: member, select }) =>
        select.value === "" ? [] : [[member, select.value] as const],
      );
      const entry = {
        ...Object.fromEntries(chosen),
        ...(Object.keys(values).length > 0 ? { grid: values } : {}),
      };
      if (Object.keys(entry).length === 0)
        throw new Error(`Choose a ${noun} or another setting, or write a parameter.`);
      if (!add(entry)) throw new Error("Fix the JSON first.");
      grid.value = "";
      fault.show([]);
    } catch (error) {
      fault.show([error instanceof Error ? error.message : String(error)]);
    }
  });
  return {
    first: model.select,
    show,
    element: element(
      "fieldset",
      { class: "new-candidate" },
      element("legend", {}, "Add candidates"),
      model.element,
      ...settings.map((setting) => setting.element),
      element(
        "div",
        { class: "field" },
        element("label", { for: id }, "Parameters, one per line"),
        grid,
        element(
          "p",
          { class: "hint", id: `${id}-hint` },
          `For example: ${kind.example}. Each combination of the values of all lines is a candidate.`,
        ),
        fault.element,
      ),
      place,
      button,
    ),
  };
}

/** @throws Error for a line that is no parameter, or names none of the model. */
function checkedGrid(text: string, model: string | undefined, parameters: readonly string[] | undefined) {
  const values = readGrid(text);
  const unknown = Object.keys(values).find((name) => parameters?.includes(name) === false);
  if (unknown !== undefined) throw new Error(`${model} has no parameter ${unknown}.`);
  return values;
}

interface SettingSelect {
  readonly name: string;
  readonly select: HTMLSelectElement;
  readonly element: HTMLElement;
}

/** A list of the values that the config itself may have. @param none the label of the entry that sets nothing. */
function selectFor(form: PayloadForm, path: Path, name: string, none: string): SettingSelect {
  const id = newId();
  const choices = controlAt(form, path)?.field.choices ?? [];
  const select = element(
    "select",
    { id },
    element("option", { value: "" }, none),
    ...choices.map((choice) => element("option", { value: choice }, choice)),
  );
  return {
    name,
    select,
    element: element(
      "div",
      { class: "field" },
      element("label", { for: id }, ...nameOf({ name, isRequired: false })),
      select,
    ),
  };
}
