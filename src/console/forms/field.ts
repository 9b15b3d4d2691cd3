import { createContext, type TargetedEvent, type VNode } from "preact";
import { useContext, useId, useState } from "preact/hooks";
import type { RawJson } from "../../contract/json/json-text.ts";
import { shortVisibleText } from "../../contract/visible-text.ts";
import { type Child, h, html } from "../../view/html.ts";
import { prose } from "../../view/text.ts";
import { faultLine, type PlacedFault, pathName } from "./faults.ts";
import { acceptedText, defaultText, fieldText, fieldValue, placeholderText } from "./field-text.ts";
import { choiceLabel, labelOf } from "./labels.ts";
import { MAX_PAYLOAD_LENGTH, type Path } from "./payload-tree.ts";
import { allParts, type Field, type FormPart, type Group } from "./schema-fields.ts";

/** What the fields of a form show and change. */
export interface FormState {
  valueAt(path: Path): RawJson | undefined;
  /** @param json how the reader has written the value. */
  set(path: Path, value: RawJson | undefined, json?: string): void;
  /** By the path of the place that shows them. */
  readonly faults: ReadonlyMap<string, readonly PlacedFault[]>;
  /** Texts of `json` fields that are not JSON, by path: until they are, the form cannot be sent. */
  readonly broken: ReadonlyMap<string, { readonly text: string; readonly message: string }>;
  setBroken(path: Path, text: string, message: string): void;
  /** What stands below a control, by path. */
  readonly extras?: Readonly<Record<string, () => Child>>;
  /** URLs that a control offers. */
  offered?(field: Field): readonly string[];
}

export const VisibleForm = createContext<FormState | undefined>(undefined);

export function useForm(): FormState {
  return useContext(VisibleForm)!;
}

/** The members of an object that a form shows at once; it folds the others. */
interface Fold {
  readonly shown: readonly string[];
  /** The label of the folded members. */
  readonly label: string;
}

/** Folds by the path of their object, its keys joined with a slash. */
export type Folds = Readonly<Record<string, Fold>>;

interface FieldsProps {
  readonly parts: readonly FormPart[];
  readonly folds?: Folds;
  /** Of the object that has the parts. */
  readonly path?: Path;
}

/** The controls and sections of an object, and within them those of its members. */
export function Fields({ parts, folds = {}, path = [] }: FieldsProps): VNode {
  const { valueAt } = useForm();
  const draw = (part: FormPart) =>
    isApplicable(part, valueAt) &&
    (part.kind === "group"
      ? h(Section, { key: part.name, group: part, folds })
      : h(Control, { key: part.name, field: part }));
  const key = path.join("/");
  const fold = Object.hasOwn(folds, key) ? folds[key]! : undefined;
  if (fold === undefined) return html`${parts.map(draw)}`;
  const hidden = parts.filter(({ name }) => !fold.shown.includes(name));
  const set = allParts(hidden).filter(
    (part) => part.kind !== "group" && valueAt(part.path) !== undefined,
  ).length;
  return html`${parts.filter((part) => !hidden.includes(part)).map(draw)}
    <details class="more"><summary>${set === 0 ? fold.label : `${fold.label} (${set} set)`}</summary>
      <div class="held">${hidden.map(draw)}</div>
    </details>`;
}

/** Whether a part applies: entries of a network that is not chosen do not. A section without applicable members is none. */
function isApplicable(part: FormPart, valueAt: FormState["valueAt"]): boolean {
  if (part.onlyWith !== undefined && valueAt(part.onlyWith.path) !== part.onlyWith.value) return false;
  return part.kind !== "group" || part.parts.some((member) => isApplicable(member, valueAt));
}

/** The paths of the controls and sections that a form shows, folded or not. */
export function shownPaths(parts: readonly FormPart[], valueAt: FormState["valueAt"]): readonly Path[] {
  return parts
    .filter((part) => isApplicable(part, valueAt))
    .flatMap((part) => {
      if (part.kind !== "group") return [part.path];
      const isOpen = part.presence === "always" || valueAt(part.path) !== undefined;
      return [part.path, ...(isOpen ? shownPaths(part.parts, valueAt) : [])];
    });
}

/** A section. If it contains only another section, that one is shown without an additional frame. */
function Section({ group, folds }: { readonly group: Group; readonly folds: Folds }): VNode {
  const { valueAt, set, faults } = useForm();
  const { path, name, parts, description, presence } = group;
  const found = faults.get(pathName(path)) ?? [];
  // It has many members, so it names the one that is meant.
  const line = faultLine(found.map((fault) => `${fault.path}: ${fault.message}`));
  const inner = h(Fields, { parts, folds, path });
  if (parts.length === 1 && parts[0]!.kind === "group" && presence === "always")
    return html`<div class="section">${line}${inner}</div>`;
  const isIncluded = presence === "always" || valueAt(path) !== undefined;
  return html`<fieldset class="group">
    <legend>${nameOf({ name, isRequired: false })}</legend>
    ${description !== "" && html`<p class="hint">${prose(description, 2_000)}</p>`}
    ${
      presence === "chosen" &&
      html`<label class="check">
      <input type="checkbox" checked=${isIncluded} onChange=${() => set(path, isIncluded ? undefined : {})} />
      Include ${(labelOf(name) ?? name).toLowerCase()}</label>`
    }
    ${line}
    ${isIncluded && html`<div class="held">${inner}</div>`}
  </fieldset>`;
}

/** The label of a member in words, followed by its name in the payload. */
export function nameOf({ name, isRequired }: Pick<Field, "name" | "isRequired">): VNode {
  const words = labelOf(name);
  return html`${words === undefined ? name : html`${words} <code>${name}</code>`}${isRequired && html`<span class="need">, required</span>`}`;
}

/** One field: its label, its control, its hint, and its faults, all linked. */
export function Control({ field }: { readonly field: Field }): VNode {
  const { valueAt, set, faults, broken, setBroken, extras = {}, offered } = useForm();
  const id = useId();
  const [typed, setTyped] = useState<string>();
  const path = pathName(field.path);
  const stuck = broken.get(path);
  // The reader's own characters stay unchanged while they are typed.
  const text = stuck?.text ?? typed ?? fieldText(field, valueAt(field.path));
  const messages = [stuck?.message ?? [], (faults.get(path) ?? []).map(({ message }) => message)].flat();
  const write = (input: HTMLInputElement) => {
    const { value } = input;
    if (document.activeElement === input) setTyped(value);
    try {
      set(field.path, fieldValue(field, value), field.kind === "json" ? value : undefined);
    } catch (error) {
      setBroken(field.path, value, error instanceof Error ? error.message : String(error));
    }
  };
  const hint = [field.description, acceptedText(field)].filter((words) => words !== "").join(" ");
  const urls = offered?.(field) ?? [];
  const attributes = {
    id,
    value: text,
    "aria-describedby": `${hint === "" ? "" : `${id}-hint `}${id}-fault`,
    "aria-invalid": messages.length > 0 ? "true" : undefined,
    list: urls.length > 0 ? `${id}-list` : undefined,
    onInput: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => write(currentTarget),
    onBlur: () => setTyped(undefined),
  };
  const below = html`
    ${hint !== "" && html`<p class="hint" id=${`${id}-hint`}>${prose(hint, 2_000)}</p>`}
    ${faultLine(messages, `${id}-fault`)}
    ${urls.length > 0 && html`<datalist id=${`${id}-list`}>${urls.map((url) => html`<option value=${url} />`)}</datalist>`}
    ${Object.hasOwn(extras, path) && extras[path]!()}`;
  if (field.kind !== "checks")
    return html`<div class=${`field ${field.kind}`}><label for=${id}>${nameOf(field)}</label>${inputOf(field, attributes)}${below}</div>`;
  const chosen = text.split("\n");
  const toggle = (choice: string) => {
    const now = field.choices.filter((each) => chosen.includes(each) !== (each === choice));
    set(field.path, fieldValue(field, now.join("\n")));
  };
  return html`<fieldset class="field checks" aria-describedby=${attributes["aria-describedby"]}>
    <legend>${nameOf(field)}</legend>
    ${field.choices.map(
      (
        choice,
      ) => html`<label class="check"><input type="checkbox" value=${choice} checked=${chosen.includes(choice)}
        onChange=${() => toggle(choice)} />${choiceLabel(choice)}</label>`,
    )}${below}
  </fieldset>`;
}

function inputOf(field: Field, attributes: { readonly value: string }): VNode {
  const placeholder = field.kind === "json" ? undefined : placeholderText(field);
  const plain = { ...attributes, placeholder, autocomplete: "off", spellcheck: false, autocapitalize: "off" };
  switch (field.kind) {
    case "choice":
    case "flag":
      return selectOf(field, attributes);
    case "json":
      return html`<textarea ...${plain} rows="5" class="code" maxlength=${MAX_PAYLOAD_LENGTH} />`;
    case "names":
      return html`<textarea ...${plain} rows="2" maxlength=${MAX_PAYLOAD_LENGTH} />`;
    case "number":
    case "integer":
      return html`<input ...${plain} type="text" inputmode="decimal" maxlength="400" />`;
    default:
      return html`<input ...${plain} type=${field.kind === "date" ? "date" : "text"} maxlength="4000" />`;
  }
}

/** A list whose first entry omits the member; a text that it lacks is an additional entry. */
function selectOf(
  { kind, choices, byDefault, isRequired }: Field,
  attributes: { readonly value: string },
): VNode {
  const none = isRequired
    ? "Choose one"
    : byDefault === undefined
      ? "(default)"
      : `(default: ${defaultText(byDefault)})`;
  const offered = ["", ...(kind === "flag" ? ["true", "false"] : choices)];
  const { value } = attributes;
  return html`<select ...${attributes}>
    ${offered.map((choice) => html`<option value=${choice}>${choice === "" ? none : choice}</option>`)}
    ${!offered.includes(value) && html`<option value=${value}>${shortVisibleText(value, 80)}</option>`}
  </select>`;
}
