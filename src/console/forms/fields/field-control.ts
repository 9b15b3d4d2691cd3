import type { RawJson } from "../../../contract/json/json-text.ts";
import { element, fill } from "../../dom.ts";
import { prose, textElement } from "../../words.ts";
import {
  acceptedText,
  defaultText,
  fieldText,
  fieldValue,
  numberFault,
  placeholderText,
} from "./field-text.ts";
import { choiceLabel, labelOf } from "./labels.ts";
import { MAX_PAYLOAD_LENGTH } from "./payload-tree.ts";
import type { Field } from "./schema-fields.ts";

/** One field of a form on the page. */
export interface Control {
  readonly field: Field;
  readonly element: HTMLElement;
  /** The element that the reader types into; for `checks` the group. */
  readonly input: HTMLElement;
  /** Why its text is not a value, for example broken JSON: then the form cannot be sent. */
  readonly broken: string | undefined;
  show(value: RawJson | undefined): void;
  /** Replaces the faults that it showed before. */
  showFaults(messages: readonly string[]): void;
  focus(): void;
}

/** Called with the current value of the control; `json` is the JSON as the reader typed it. */
export type Changed = (value: RawJson | undefined, json?: string) => void;

let made = 0;

/** An id for an element of a form. */
export function newId(): string {
  made += 1;
  return `form-${made}`;
}

/** Creates the control of a field: its label, its hint, and space for its faults, all linked to it. */
export function fieldControl(field: Field, changed: Changed): Control {
  return field.kind === "checks" ? checksControl(field, changed) : textControl(field, changed);
}

/** The label of a member in words, followed by its name in the payload. */
export function nameOf({ name, isRequired }: Pick<Field, "name" | "isRequired">): (HTMLElement | string)[] {
  const words = labelOf(name);
  return [
    ...(words === undefined ? [name] : [words, " ", element("code", {}, name)]),
    ...(isRequired ? [element("span", { class: "need" }, ", required")] : []),
  ];
}

/** Text below a control that says what it accepts. */
function hintOf(field: Field): string {
  return [field.description, acceptedText(field)].filter((words) => words !== "").join(" ");
}

/** The line below a control that says what is wrong with it; empty and hidden if nothing is. */
export function faultLine(id: string): { element: HTMLElement; show(messages: readonly string[]): void } {
  const line = element("p", { class: "fault", id, hidden: true });
  return {
    element: line,
    show: (messages) => {
      line.hidden = messages.length === 0;
      fill(line, ...messages.flatMap((message, i) => [i > 0 && element("br"), textElement(message, 1_000)]));
    },
  };
}

type TextInput = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

function textControl(field: Field, changed: Changed): Control {
  const id = newId();
  const hint = hintOf(field);
  const faults = faultLine(`${id}-fault`);
  const input = inputOf(field, id);
  if (hint !== "") input.setAttribute("aria-describedby", `${id}-hint ${id}-fault`);
  else input.setAttribute("aria-describedby", `${id}-fault`);
  let broken: string | undefined;
  const showFaults = (messages: readonly string[]) => {
    faults.show(messages);
    if (messages.length > 0) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  input.addEventListener("input", () => {
    try {
      broken = undefined;
      changed(fieldValue(field, input.value), field.kind === "json" ? input.value : undefined);
      showFaults([]);
    } catch (error) {
      broken = error instanceof Error ? error.message : String(error);
      showFaults([broken]);
    }
  });
  input.addEventListener("change", () => {
    const wrong = numberFault(field, input.value);
    if (wrong !== undefined) showFaults([wrong]);
  });
  return {
    field,
    input,
    get broken() {
      return broken;
    },
    element: element(
      "div",
      { class: `field ${field.kind}` },
      element("label", { for: id }, ...nameOf(field)),
      input,
      hint !== "" && element("p", { class: "hint", id: `${id}-hint` }, ...prose(hint, 2_000)),
      faults.element,
    ),
    show: (value) => {
      broken = undefined;
      showText(input, fieldText(field, value));
    },
    showFaults,
    focus: () => input.focus(),
  };
}

function inputOf(field: Field, id: string): TextInput {
  const plain = { id, autocomplete: "off", spellcheck: "false", autocapitalize: "off" };
  switch (field.kind) {
    case "choice":
    case "flag":
      return selectOf(field, id);
    case "json":
      return element("textarea", { ...plain, rows: 5, class: "code", maxlength: MAX_PAYLOAD_LENGTH });
    case "names":
      return element("textarea", { ...plain, rows: 3, maxlength: MAX_PAYLOAD_LENGTH });
    case "number":
    case "integer": {
      const placeholder = placeholderText(field);
      return element("input", { ...plain, placeholder, type: "text", inputmode: "decimal", maxlength: 400 });
    }
    default:
      return element("input", { ...plain, type: "text", maxlength: 4_000 });
  }
}

/** A list whose first entry omits the member. */
function selectOf({ kind, choices, byDefault, isRequired }: Field, id: string): HTMLSelectElement {
  const none = isRequired
    ? "Choose one"
    : byDefault === undefined
      ? "(default)"
      : `(default: ${defaultText(byDefault)})`;
  const offered = kind === "flag" ? ["true", "false"] : choices;
  return element(
    "select",
    { id },
    element("option", { value: "" }, none),
    ...offered.map((choice) => element("option", { value: choice }, choice)),
  );
}

/** Shows a text; a list gets an additional entry for a text that it lacks. */
function showText(input: TextInput, text: string): void {
  if (input instanceof HTMLSelectElement) {
    for (const option of [...input.options]) if (option.dataset.foreign !== undefined) option.remove();
    if (![...input.options].some(({ value }) => value === text)) {
      input.append(element("option", { value: text, "data-foreign": true }, textElement(text, 80)));
    }
  }
  if (input.value !== text) input.value = text;
}

function checksControl(field: Field, changed: Changed): Control {
  const id = newId();
  const faults = faultLine(`${id}-fault`);
  const boxes = field.choices.map((choice) => element("input", { type: "checkbox", value: choice }));
  const text = () => boxes.flatMap((box) => (box.checked ? [box.value] : [])).join("\n");
  const group = element(
    "fieldset",
    { class: "field checks", "aria-describedby": `${id}-hint ${id}-fault` },
    element("legend", {}, ...nameOf(field)),
    ...boxes.map((box) => element("label", { class: "check" }, box, choiceLabel(box.value))),
    element("p", { class: "hint", id: `${id}-hint` }, hintOf(field)),
    faults.element,
  );
  group.addEventListener("input", () => {
    changed(fieldValue(field, text()));
    faults.show([]);
  });
  return {
    field,
    element: group,
    input: group,
    broken: undefined,
    show: (value) => {
      const chosen = fieldText(field, value).split("\n");
      for (const box of boxes) box.checked = chosen.includes(box.value);
    },
    showFaults: faults.show,
    focus: () => boxes[0]?.focus(),
  };
}
