import type { RawJson } from "../../../contract/json/json-text.ts";
import { element } from "../../dom.ts";
import { prose } from "../../words.ts";
import { type Control, faultLine, fieldControl, nameOf, newId } from "./field-control.ts";
import { type Folds, foldAt, foldedPart } from "./folds.ts";
import { labelOf } from "./labels.ts";
import type { Path } from "./payload-tree.ts";
import type { FormPart, Group } from "./schema-fields.ts";

/** A part that shows faults: a control, or a section for members without a control. */
export interface FaultPlace {
  readonly path: Path;
  readonly element: HTMLElement;
  /** Whether it is a section, which shows the paths of its faults. */
  readonly isSection?: true;
  showFaults(messages: readonly string[]): void;
  focus(): void;
}

/** The parts of a form on the page. */
export interface Fields {
  readonly elements: readonly HTMLElement[];
  readonly controls: readonly Control[];
  /** In the order of the page. */
  readonly places: readonly FaultPlace[];
  /** Shows the values of a tree; `except` is the control that the reader is typing into. */
  show(valueAt: (path: Path) => RawJson | undefined, except?: Control): void;
}

/** @param changed is called with the path of each change by the reader. */
type PathChanged = (path: Path, value: RawJson | undefined, json: string | undefined, by?: Control) => void;

/**
 * Creates the controls and sections of a form.
 * @param folds the objects of which it shows some members and folds the others. @param path of the object that has the parts.
 */
export function makeFields(
  parts: readonly FormPart[],
  changed: PathChanged,
  folds: Folds = {},
  path: Path = [],
): Fields {
  const make = (part: FormPart) =>
    part.kind === "group" ? makeGroup(part, changed, folds) : makeField(part, changed);
  const fold = foldAt(folds, path);
  const isShown = ({ name }: FormPart) => fold?.shown.includes(name) ?? true;
  const shown = parts.filter(isShown).map(make);
  const hidden = parts.filter((part) => !isShown(part)).map(make);
  const folded =
    fold &&
    foldedPart(
      fold,
      hidden.flatMap(({ elements }) => elements),
    );
  const made = [...shown, ...hidden];
  return {
    elements: [
      ...shown.flatMap(({ elements }) => elements),
      ...(folded === undefined ? [] : [folded.element]),
    ],
    controls: made.flatMap(({ controls }) => controls),
    places: made.flatMap(({ places }) => places),
    show: (valueAt, except) => {
      for (const fields of made) fields.show(valueAt, except);
      const controls = hidden.flatMap((fields) => fields.controls);
      folded?.show(controls.filter(({ field }) => valueAt(field.path) !== undefined).length);
    },
  };
}

function makeField(field: Exclude<FormPart, Group>, changed: PathChanged): Fields {
  const control = fieldControl(field, (value, json) => changed(field.path, value, json, control));
  return {
    elements: [control.element],
    controls: [control],
    places: [{ ...placeOf(control), path: field.path }],
    show: (valueAt, except) => {
      if (control !== except) control.show(valueAt(field.path));
      showOnly(control.element, field, valueAt);
    },
  };
}

function placeOf({ element: place, showFaults, focus }: Control): Omit<FaultPlace, "path"> {
  return { element: place, showFaults, focus };
}

/** A section. If it contains only another section, that one is shown without an additional frame. */
function makeGroup(group: Group, changed: PathChanged, folds: Folds): Fields {
  const inner = makeFields(group.parts, changed, folds, group.path);
  const faults = faultLine(newId());
  faults.element.tabIndex = -1;
  const [only] = group.parts;
  const isWrapper = group.parts.length === 1 && only?.kind === "group" && group.presence === "always";
  const box = element("input", { type: "checkbox" });
  const held = element("div", { class: "held" }, ...inner.elements);
  box.addEventListener("change", () => changed(group.path, box.checked ? {} : undefined, undefined));
  const frame = isWrapper
    ? element("div", {}, faults.element, ...inner.elements)
    : element(
        "fieldset",
        { class: "group" },
        element("legend", {}, ...nameOf({ ...group, isRequired: false })),
        group.description !== "" && element("p", { class: "hint" }, ...prose(group.description, 2_000)),
        group.presence === "chosen" &&
          element(
            "label",
            { class: "check" },
            box,
            `Include ${(labelOf(group.name) ?? group.name).toLowerCase()}`,
          ),
        faults.element,
        held,
      );
  const place = {
    path: group.path,
    element: frame,
    isSection: true as const,
    showFaults: faults.show,
    focus: () => faults.element.focus(),
  };
  return {
    elements: [frame],
    controls: inner.controls,
    places: [place, ...inner.places],
    show: (valueAt, except) => {
      box.checked = valueAt(group.path) !== undefined;
      held.hidden = group.presence === "chosen" && !box.checked;
      inner.show(valueAt, except);
      showOnly(frame, group, valueAt);
      // Entries none of which applies yet.
      if (inner.elements.every(({ hidden }) => hidden)) frame.hidden = true;
    },
  };
}

function showOnly(
  part: HTMLElement,
  { onlyWith }: FormPart,
  valueAt: (path: Path) => RawJson | undefined,
): void {
  part.hidden = onlyWith !== undefined && valueAt(onlyWith.path) !== onlyWith.value;
}
