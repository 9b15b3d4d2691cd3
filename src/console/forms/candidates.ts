import type { VNode } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import type { FormSchemas, ModelParameter } from "../../contract/api/published-schemas.ts";
import type { Operation } from "../../contract/config/job-operations.ts";
import type { RawJson } from "../../contract/json/json-text.ts";
import { countedRows } from "../../view/figures.ts";
import { html, onText, select } from "../../view/html.ts";
import { bdi } from "../../view/text.ts";
import { choiceSize, entrySize, entryWords, numberOf, readGrid, sizeWords } from "./candidate-entries.ts";
import { faultLine, pathName } from "./faults.ts";
import { nameOf, useForm } from "./field.ts";
import { modelNamed, parameterTable } from "./parameters.ts";
import type { Path } from "./payload-tree.ts";
import type { Field, FormPart } from "./schema-fields.ts";

/** What the editor of candidates needs to know about a job. */
interface CandidateKind {
  /** The settings of the job itself, candidate 0. */
  readonly root: Path;
  /** The member that names what is fitted, of the settings and of an entry. */
  readonly model: string;
  readonly noun: "model" | "network";
  /** What an entry may set besides, in the order of the editor. */
  readonly settings: readonly string[];
  /** Members whose sum is the number of folds; undefined if candidates have none. */
  readonly folds: readonly Path[] | undefined;
  readonly example: string;
}

const ML = ["config", "ML params"];
const DOT = ["config", "NN params", "Dot prediction"];

const KINDS: Readonly<Record<Operation, CandidateKind>> = {
  run_ml_job: {
    root: ML,
    model: "model",
    noun: "model",
    settings: ["fit", "target", "scaler"],
    folds: [
      [...ML, "n_splits"],
      [...ML, "choice", "warm_up"],
    ],
    example: "alpha = 0.1, 1, 10",
  },
  run_dl_job: {
    root: DOT,
    model: "current option",
    noun: "network",
    settings: ["target"],
    folds: undefined,
    example: "learning_rate = 0.001, 0.0003",
  },
};

export function candidatesPath(operation: Operation): string {
  return pathName([...KINDS[operation].root, "choice", "candidates"]);
}

interface CandidatesProps {
  readonly operation: Operation;
  readonly schemas: FormSchemas;
  /** Of the whole form. */
  readonly fields: readonly FormPart[];
}

/** Below the JSON of `choice.candidates`: its entries, how many fits they take, and a way to add one or remove one. */
export function Candidates({ operation, schemas, fields }: CandidatesProps): VNode {
  const { valueAt, set, broken } = useForm();
  const id = useId();
  const [picked, pick] = useState<Readonly<Record<string, string>>>({});
  const [grid, setGrid] = useState("");
  const [fault, setFault] = useState<string>();
  const place = useRef<HTMLDivElement>(null);
  const { root, model, noun, settings, folds, example } = KINDS[operation];
  const path = [...root, "choice", "candidates"];
  const value = valueAt(path);
  const entries: readonly RawJson[] = Array.isArray(value) ? value : [];
  const fieldAt = (at: Path) => fields.find((part) => pathName(part.path) === pathName(at)) as Field;
  const foldCount = folds?.reduce(
    (sum, at) => sum + (numberOf(valueAt(at)) ?? Number(fieldAt(at).byDefault ?? 0)),
    0,
  );
  const total = choiceSize(entries, foldCount);
  const isWritable = !broken.has(pathName(path)) && (value === undefined || Array.isArray(value));
  const named = (name: unknown) =>
    operation === "run_ml_job"
      ? modelNamed(schemas, name)
      : typeof name === "string" && name !== ""
        ? name
        : undefined;
  const own = named(valueAt([...root, model]));
  const fitted = named(picked[model]) ?? own;
  const listed: readonly ModelParameter[] | undefined =
    operation === "run_ml_job" && fitted !== undefined ? schemas.parameters[fitted] : undefined;
  const add = () => {
    try {
      const values = readGrid(grid);
      const known =
        fitted === undefined
          ? undefined
          : (listed?.map(({ name }) => name) ?? networkParameters(fields, fitted));
      const unknown = Object.keys(values).find((name) => known?.includes(name) === false);
      if (unknown !== undefined) throw new Error(`${fitted} has no parameter ${unknown}.`);
      const chosen = Object.entries(picked).filter(([, of]) => of !== "");
      const entry = {
        ...Object.fromEntries(chosen),
        ...(Object.keys(values).length > 0 ? { grid: values } : {}),
      };
      if (Object.keys(entry).length === 0)
        throw new Error(`Choose a ${noun} or another setting, or write a parameter.`);
      if (!isWritable) throw new Error("Fix the JSON first.");
      set(path, [...entries, entry]);
      setGrid("");
      setFault(undefined);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  const remove = (index: number) => {
    if (!isWritable) return;
    const left = entries.filter((_, i) => i !== index);
    set(path, left.length === 0 ? undefined : left);
    // The button of the entry that takes its place keeps the focus; without one, the first control gets it.
    if (index === left.length)
      place.current!.querySelector<HTMLElement>("li:nth-last-child(2) button, select")!.focus();
  };
  const setting = (name: string, none: string) => html`<div class="field">
    <label for=${`${id}-${name}`}>${nameOf({ name, isRequired: false })}</label>
    ${select(
      picked[name] ?? "",
      [["", none], ...fieldAt([...root, name]).choices.map((choice) => [choice, choice] as const)],
      {
        id: `${id}-${name}`,
        onChange: onText((text) => pick({ ...picked, [name]: text })),
      },
    )}</div>`;
  return html`<div ref=${place}>
    <ol class="candidates">${entries.map((entry, i) => {
      const count = entrySize(entry);
      return html`<li>${bdi(entryWords(entry), 400)}${count === 1 ? " " : ` (${countedRows(count, "candidate")}) `}
        <button type="button" aria-label=${`Remove entry ${i + 1}`} onClick=${() => remove(i)}>Remove</button></li>`;
    })}</ol>
    <p role="status">${entries.length > 0 && sizeWords(total)}</p>
    <fieldset class="new-candidate"><legend>Add candidates</legend>
      ${setting(model, `(${noun} of this config)`)}
      ${settings.map((name) => setting(name, "(as in this config)"))}
      <div class="field">
        <label for=${id}>Parameters, one per line</label>
        <textarea id=${id} rows="3" class="code" maxlength="4000" autocomplete="off" spellcheck=${false} value=${grid}
          aria-describedby=${`${id}-hint ${id}-fault`}
          onInput=${onText(setGrid)} />
        <p class="hint" id=${`${id}-hint`}>For example: ${example}. Each combination of the values of all lines is a candidate.</p>
        ${faultLine(fault === undefined ? [] : [fault], `${id}-fault`)}
      </div>
      ${listed !== undefined && fitted !== own && html`<div class="parameters">${parameterTable(fitted!, listed)}</div>`}
      <button type="button" onClick=${add}>Add to the candidates</button>
    </fieldset>
  </div>`;
}

/** The names of the members that an entry of networks may vary. */
function networkParameters(fields: readonly FormPart[], network: string): readonly string[] {
  const sections = [["training_params"], ["data_processing"], ["models_params", network]].map((path) => [
    ...DOT,
    ...path,
  ]);
  return fields
    .filter(({ path }) => sections.some((section) => pathName(section) === pathName(path.slice(0, -1))))
    .map(({ name }) => name);
}
