import type { VNode } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import type { ExampleConfig } from "../../contract/config/example-configs.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";
import { h, html, onText, select } from "../../view/html.ts";
import { DataSection, INPUT_URLS, type ReadyInputs } from "../inputs/data-section.ts";
import { Loaded, useView } from "../view.ts";
import { type Draft, type RawJson, readDraft, readTree, valueAt, withValue } from "./draft.ts";
import { pathName } from "./faults.ts";
import type { Folds } from "./fields.ts";
import { candidatesText, MODEL_PARAMS, ModelParameters } from "./model-settings.ts";
import { lostDrafts, PayloadForm } from "./payload-form.ts";
import { type Forms, fetchForms } from "./schema.ts";
import { readStart, type Start } from "./start.ts";

/** What the forms differ in. */
interface FormKind {
  readonly operations: Readonly<Partial<Record<SubmittedOperation, string>>>;
  readonly introduction?: string;
  /** Whether it begins with the choice of the inputs. */
  readonly hasData: boolean;
  readonly folds: Folds;
  /** The label of the button. */
  readonly submit: string;
}

const MORE = "More settings";
const [ML, DOT] = ["config/ML params", "config/NN params/Dot prediction"];

/** Each form shows the few settings that decide what is done; the defaults of the others suit most jobs. */
const FORMS = {
  job: {
    operations: { run_ml_job: "Regressors", run_dl_job: "Neural networks" },
    hasData: true,
    folds: {
      "": { shown: ["config"], label: "Input URLs, window and tags" },
      [ML]: { shown: ["model", "model_params", "fit", "target", "intervals"], label: MORE },
      [`${ML}/intervals`]: { shown: ["alpha"], label: MORE },
      [`${ML}/choice`]: { shown: ["candidates"], label: MORE },
      [`${ML}/choice/candidates`]: { shown: ["model", "fit", "grid"], label: MORE },
      [DOT]: {
        shown: ["current option", "data_processing", "training_params", "target", "intervals"],
        label: MORE,
      },
      [`${DOT}/training_params`]: { shown: ["epochs", "learning_rate", "ensemble"], label: MORE },
      [`${DOT}/intervals`]: { shown: ["alpha"], label: MORE },
      [`${DOT}/choice`]: { shown: ["candidates"], label: MORE },
      [`${DOT}/choice/candidates`]: { shown: ["current option", "grid"], label: MORE },
    },
    submit: "Submit job",
  },
  audit: {
    operations: { audit: "Audit" },
    introduction:
      "Checks the inputs and the forecasts of a job for look-ahead. The audit cuts both blobs and runs the job again, compares the blobs with those of an earlier day, tests every feature, and permutes the labels.",
    hasData: true,
    folds: {
      "": { shown: ["config", "checks"], label: "Input URLs, blobs of an earlier day, window and options" },
    },
    submit: "Submit audit",
  },
  replay: {
    operations: { replay: "Replay" },
    introduction:
      "Runs the job of an output again on the same inputs and compares the two outputs number by number. Only output_url is required.",
    hasData: false,
    folds: { "": { shown: ["output_url"], label: "Inputs that have moved, and options" } },
    submit: "Submit replay",
  },
} as const satisfies Readonly<Record<string, FormKind>>;

export type FormName = keyof typeof FORMS;

/** Payload members that stay when the reader switches to the other job. */
const SHARED = [...INPUT_URLS, "start", "end", "learning_end", "portable", "tags"];

/**
 * Submits a job, an audit or a replay. The address may have what `readStart` reads; that of a job also `operation`, `feature_url` and
 * `data_extractor_url`.
 */
export function SubmitForm({ name }: { readonly name: FormName }): VNode {
  const context = useView();
  return h(Loaded<readonly [Forms, Start | undefined]>, {
    read: () => Promise.all([fetchForms(), readStart(name, context)]),
    show: ([forms, start]) => h(LoadedForm, { kind: FORMS[name], forms, start }),
  });
}

interface LoadedFormProps {
  readonly kind: FormKind;
  readonly forms: Forms;
  readonly start: Start | undefined;
}

/** The payloads of a form by its operations; those of both jobs stay while the reader switches between them. */
interface FormDrafts {
  readonly operation: SubmittedOperation;
  readonly drafts: Readonly<Partial<Record<SubmittedOperation, Draft>>>;
}

function LoadedForm({ kind, forms, start }: LoadedFormProps): VNode {
  const { params, notify } = useView();
  const names = Object.keys(kind.operations) as SubmittedOperation[];
  const firstDraft = (name: SubmittedOperation) => {
    const lost = lostDrafts.get(name);
    lostDrafts.delete(name);
    if (lost !== undefined) notify("The form contains what you had entered when your session ended.");
    const urls = INPUT_URLS.flatMap((member) => (params.has(member) ? [[member, params.get(member)]] : []));
    const text = start?.operation === name ? start.text : JSON.stringify(Object.fromEntries(urls), null, 2);
    return readDraft(lost ?? text);
  };
  const [{ operation, drafts }, setState] = useState((): FormDrafts => {
    const named = start?.operation ?? params.get("operation");
    const operation =
      names.find((name) => lostDrafts.has(name)) ?? names.find((name) => name === named) ?? names[0]!;
    return { operation, drafts: { [operation]: firstDraft(operation) } };
  });
  const [misses, setMisses] = useState(0);
  const [isSending, setSending] = useState(false);
  const draft = drafts[operation]!;
  /** The newest, for an upload that ends later. */
  const latest = useRef({ operation, drafts });
  const change = (next: FormDrafts) => {
    latest.current = next;
    setState(next);
  };
  const setDraft = (changed: Draft) => change({ operation, drafts: { ...drafts, [operation]: changed } });
  const show = (name: SubmittedOperation) => {
    const next = drafts[name] ?? firstDraft(name);
    const shared = SHARED.map((member) => [member, valueAt(draft.tree, [member])] as const);
    const shown = next.fault === undefined ? withMembers(next, shared) : next;
    change({ operation: name, drafts: { ...drafts, [name]: shown } });
  };
  /** JSON with an error stays as the reader has written it. */
  const take = (inputs: ReadyInputs) => {
    const now = latest.current;
    const before = now.drafts[now.operation]!;
    if (before.fault === undefined)
      change({
        ...now,
        drafts: { ...now.drafts, [now.operation]: withMembers(before, Object.entries(inputs)) },
      });
  };
  const id = useId();
  const schema = forms.payloads[operation];
  const urls = INPUT_URLS.map((name) => valueAt(draft.tree, [name]));
  const examples = forms.examples.filter((example) => example.operation === operation);
  return html`
    ${kind.introduction !== undefined && html`<p class="what">${kind.introduction}</p>`}
    ${start?.note !== undefined && html`<p class="hint">${start.note}</p>`}
    ${kind.hasData && h(DataSection, { forms, misses, urls, isLocked: draft.fault !== undefined, onChosen: take })}
    ${
      names.length > 1 &&
      html`<fieldset class="jobs" disabled=${isSending}><legend>Job</legend>${names.map(
        (name) => html`<label class="check">
        <input type="radio" name=${`${id}-job`} value=${name} checked=${name === operation} onChange=${() => show(name)} />
        ${`${kind.operations[name]} (${name})`}</label>`,
      )}</fieldset>`
    }
    ${examples.length > 0 && h(ExampleChooser, { key: `${operation} example`, examples, draft, onDraft: setDraft })}
    ${h(PayloadForm, {
      key: operation,
      operation,
      schema,
      folds: kind.folds,
      draft,
      onDraft: setDraft,
      ...{ isSending, setSending },
      submit: kind.submit,
      isReady: () => {
        const isReady = !kind.hasData || urls.some((url) => typeof url === "string");
        if (!isReady) setMisses(misses + 1);
        return isReady;
      },
      problem: start?.operation === operation ? start.problem : undefined,
      below: (path) => {
        if (pathName(path) === pathName(MODEL_PARAMS)) return h(ModelParameters, { forms });
        if (path.at(-1) !== "candidates") return undefined;
        return html`<p class="hint" role="status">${candidatesText(draft.tree, path, schema)}</p>`;
      },
    })}`;
}

function withMembers(draft: Draft, members: readonly (readonly [string, RawJson | undefined])[]): Draft {
  return members.reduce<Draft>((into, [name, value]) => withValue(into, [name], value), draft);
}

interface ExampleChooserProps {
  readonly examples: readonly ExampleConfig[];
  readonly draft: Draft;
  onDraft(draft: Draft): void;
}

/** Offers the example configs of a job. The chosen one becomes the config; what it has replaced comes back with one click. */
function ExampleChooser({ examples, draft, onDraft }: ExampleChooserProps): VNode {
  const id = useId();
  const [name, setName] = useState("");
  const [said, say] = useState("");
  const [replaced, setReplaced] = useState<string>();
  const pick = (value: string) => {
    const { config, summary } = examples.find((example) => example.name === value)!;
    setName(value);
    if (draft.fault !== undefined) return say("Fix the JSON first.");
    const texts = examples.map((example) => JSON.stringify(example.config));
    const isOwn = !texts.includes(JSON.stringify(valueAt(draft.tree, ["config"])));
    setReplaced(isOwn ? draft.members.get("config") : undefined);
    onDraft(withValue(draft, ["config"], readTree(JSON.stringify(config), value)));
    say(`The form now has the config ${value}. ${summary}.`);
  };
  const undo = () => {
    onDraft(withValue(draft, ["config"], readTree(replaced!, "config"), { json: replaced }));
    setReplaced(undefined);
    setName("");
    say("The form has your own config again.");
  };
  const names = examples.map((example) => [example.name, example.name] as const);
  return html`<div class="field examples">
    <label for=${id}>Start from an example config</label>
    <div class="beside">
      ${select(name, name === "" ? [["", "choose one"], ...names] : names, {
        id,
        "aria-describedby": `${id}-hint`,
        onChange: onText(pick),
      })}
      ${replaced !== undefined && html`<button type="button" disabled=${draft.fault !== undefined} onClick=${undo}>Undo</button>`}
    </div>
    <p class="hint" id=${`${id}-hint`} role="status">${said}</p>
  </div>`;
}
