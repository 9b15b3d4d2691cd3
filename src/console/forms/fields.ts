import { createContext, type TargetedEvent, type VNode } from "preact";
import { useContext, useId, useRef, useState } from "preact/hooks";
import { shortVisibleText } from "../../contract/visible-text.ts";
import { type Child, h, html } from "../../view/html.ts";
import { prose } from "../../view/text.ts";
import { ownOf } from "../words.ts";
import { type Path, type RawJson, valueAt } from "./draft.ts";
import { faultLine, faultsAt, type Refusal } from "./faults.ts";
import { acceptedText, fieldText, fieldValue, jsonFault, placeholderText } from "./field-text.ts";
import { CHECKS, labelOf } from "./labels.ts";
import {
  isApplicable,
  isNetworkSize,
  isOptional,
  type JsonSchema,
  kindOf,
  type Member,
  membersOf,
  schemaAt,
} from "./schema.ts";

/** What the fields of a form show and change. */
export interface FormState {
  /** Of the payload. */
  readonly schema: JsonSchema;
  readonly tree: RawJson;
  /** @param json how the reader has written the value. */
  set(path: Path, value: RawJson | undefined, json?: string): void;
  readonly refusal: Refusal | undefined;
  readonly folds: Folds;
  /** What stands below a control. */
  below?(path: Path): Child;
}

/**
 * The members of an object that a form shows at once, by the keys of its path joined with a slash; it folds the others under a label. An entry
 * of a list has the path of the list.
 */
export type Folds = Readonly<Record<string, { readonly shown: readonly string[]; readonly label: string }>>;

export const VisibleForm = createContext<FormState | undefined>(undefined);

export function useForm(): FormState {
  return useContext(VisibleForm)!;
}

/** The fields of the members of an object, and within them those of their members. */
export function Fields({
  members,
  path = [],
}: {
  readonly members: readonly Member[];
  readonly path?: Path;
}): VNode {
  const { tree, folds } = useForm();
  const applicable = members.filter((member) => isApplicable(member, tree));
  const key = path.filter((each) => typeof each === "string").join("/");
  const fold = Object.hasOwn(folds, key)
    ? folds[key]!
    : { shown: members.map(({ name }) => name), label: "" };
  const isHidden = ({ name }: Member) => !fold.shown.includes(name);
  const hidden = applicable.filter(isHidden);
  const set = hidden.filter((member) => valueAt(tree, member.path) !== undefined).length;
  return html`${applicable.filter((member) => !isHidden(member)).map(drawMember)}
    ${
      hidden.length > 0 &&
      html`<details class="more"><summary>${set === 0 ? fold.label : `${fold.label} (${set} set)`}</summary>
        <div class="held">${hidden.map(drawMember)}</div>
      </details>`
    }`;
}

function drawMember(member: Member): VNode {
  const kind = kindOf(member.schema);
  const component = kind === "group" ? Section : kind === "entries" ? Entries : Control;
  return h(component, { key: member.name, member });
}

/** An object. If it contains only another one, that one is shown without an additional frame. */
function Section({ member }: { readonly member: Member }): VNode | undefined {
  const { tree, set, refusal } = useForm();
  const { path, schema } = member;
  const all = membersOf(schema, path);
  const members = all.filter((each) => isApplicable(each, tree));
  if (members.length === 0) return undefined;
  const isIncluded = !isOptional(member) || valueAt(tree, path) !== undefined;
  // It has many members, so it names the one that is meant.
  const faults = faultsAt(refusal, tree, path, isIncluded ? members : []);
  const line = faultLine(faults.map((fault) => `${fault.path}: ${fault.message}`));
  const fields = h(Fields, { members, path });
  if (all.length === 1 && kindOf(all[0]!.schema) === "group" && !isOptional(member))
    return html`<div class="section">${line}${fields}</div>`;
  return html`<fieldset class="group">
    <legend>${nameOf({ ...member, isRequired: false })}</legend>
    ${schema.description !== undefined && html`<p class="hint">${prose(schema.description, 2_000)}</p>`}
    ${
      isOptional(member) &&
      html`<label class="check">
      <input type="checkbox" checked=${isIncluded} onChange=${() => set(path, isIncluded ? undefined : {})} />
      Include ${(labelOf(member.name) ?? member.name).toLowerCase()}</label>`
    }
    ${line}
    ${isIncluded && html`<div class="held">${fields}</div>`}
  </fieldset>`;
}

/** A list of objects, each a section. */
function Entries({ member }: { readonly member: Member }): VNode {
  const { schema: root, tree, set, refusal, below } = useForm();
  const { path } = member;
  const adding = useRef<HTMLButtonElement>(null);
  const value = valueAt(tree, path);
  // What a candidate may name is what the config itself may name.
  const named = Object.entries(member.schema.items!.properties!).map(([name, own]) => {
    const beside = schemaAt(root, [...path.slice(0, -2), name]);
    const examples = beside?.enum ?? beside?.examples;
    return [name, examples === undefined ? own : { ...own, examples }];
  });
  const schema = { ...member.schema.items, properties: Object.fromEntries(named) };
  const entries = (Array.isArray(value) ? value : []).map(
    (_, i): Member => ({
      path: [...path, i],
      name: `Entry ${i + 1}`,
      schema,
      isRequired: true,
    }),
  );
  const faults = faultsAt(refusal, tree, path, entries).map(({ message }) => message);
  const remove = (entry: Member) => {
    set(entries.length === 1 ? path : entry.path, undefined);
    adding.current!.focus();
  };
  return html`<fieldset class="group">
    <legend>${nameOf(member)}</legend>
    ${faultLine(faults)}
    ${entries.map(
      (entry) => html`${h(Section, { key: entry.name, member: entry })}
      <p class="actions"><button type="button" onClick=${() => remove(entry)}>Remove ${entry.name.toLowerCase()}</button></p>`,
    )}
    <p class="actions"><button type="button" ref=${adding} onClick=${() => set([...path, entries.length], {})}>Add an entry</button></p>
    ${below?.(path)}
  </fieldset>`;
}

/** The label of a member in words, followed by its name in the payload. */
function nameOf({ name, path, isRequired }: Pick<Member, "name" | "path" | "isRequired">): VNode {
  const words = isNetworkSize(path) ? undefined : labelOf(name);
  return html`${words === undefined ? name : html`${words} <code>${name}</code>`}${isRequired && html`<span class="need">, required</span>`}`;
}

/** One field: its label, its control, its hint, and its faults, all linked. */
function Control({ member }: { readonly member: Member }): VNode {
  const { tree, set, refusal, below } = useForm();
  const { path, schema } = member;
  const kind = kindOf(schema);
  const id = useId();
  const [typed, setTyped] = useState<string>();
  const value = valueAt(tree, path);
  // The reader's own characters stay unchanged while they are typed.
  const text = typed ?? fieldText(kind, value);
  const unread = kind === "json" && typeof value === "string" ? jsonFault(value) : undefined;
  const refused = faultsAt(refusal, tree, path).map(({ message }) => message);
  const messages = unread === undefined ? refused : [unread, ...refused];
  const write = (input: HTMLInputElement) => {
    if (document.activeElement === input) setTyped(input.value);
    set(
      path,
      fieldValue(kind, input.value),
      kind === "json" && jsonFault(input.value) === undefined ? input.value : undefined,
    );
  };
  const hint = [schema.description ?? "", acceptedText(schema)].filter((words) => words !== "").join(" ");
  const describedBy = `${hint === "" ? "" : `${id}-hint `}${id}-fault`;
  const attributes = {
    id,
    value: text,
    "aria-describedby": describedBy,
    "aria-invalid": messages.length > 0 ? "true" : undefined,
    onInput: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => write(currentTarget),
    onBlur: () => setTyped(undefined),
  };
  const after = html`
    ${hint !== "" && html`<p class="hint" id=${`${id}-hint`}>${prose(hint, 2_000)}</p>`}
    ${faultLine(messages, `${id}-fault`)}
    ${below?.(path)}`;
  if (kind !== "checks")
    return html`<div class=${`field ${kind}`}><label for=${id}>${nameOf(member)}</label>${inputOf(member, attributes)}${after}</div>`;
  const choices = schema.items!.enum!;
  const chosen = text.split("\n");
  const toggle = (choice: string) =>
    set(
      path,
      fieldValue(kind, choices.filter((each) => chosen.includes(each) !== (each === choice)).join("\n")),
    );
  return html`<fieldset class="field checks" aria-describedby=${describedBy}>
    <legend>${nameOf(member)}</legend>
    ${choices.map(
      (
        choice,
      ) => html`<label class="check"><input type="checkbox" value=${choice} checked=${chosen.includes(choice)}
        onChange=${() => toggle(choice)} />${ownOf(CHECKS, choice) === undefined ? choice : `${choice}: ${ownOf(CHECKS, choice)}`}</label>`,
    )}${after}
  </fieldset>`;
}

function inputOf({ schema, isRequired }: Member, attributes: { readonly value: string }): VNode {
  const kind = kindOf(schema);
  const placeholder = kind === "json" ? undefined : placeholderText(schema);
  const plain = { ...attributes, placeholder, autocomplete: "off", spellcheck: false, autocapitalize: "off" };
  switch (kind) {
    case "choice":
    case "flag": {
      const byDefault = placeholder === undefined ? "(default)" : `(default: ${placeholder})`;
      const choices = kind === "flag" ? ["true", "false"] : (schema.enum ?? schema.examples!).map(String);
      const { value } = attributes;
      // The first entry omits the member; a text that the list lacks is an additional entry.
      return html`<select ...${attributes}>
        <option value="">${isRequired ? "Choose one" : byDefault}</option>
        ${choices.map((choice) => html`<option value=${choice}>${choice}</option>`)}
        ${!["", ...choices].includes(value) && html`<option value=${value}>${shortVisibleText(value, 80)}</option>`}
      </select>`;
    }
    case "json":
      return html`<textarea ...${plain} rows="5" class="code" />`;
    case "names":
      return html`<textarea ...${plain} rows="2" />`;
    case "number":
    case "integer":
      return html`<input ...${plain} type="text" inputmode="decimal" />`;
    default:
      return html`<input ...${plain} type=${kind === "date" ? "date" : "text"} />`;
  }
}
