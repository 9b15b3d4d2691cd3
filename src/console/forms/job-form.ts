import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import type { FormSchemas } from "../../contract/api/published-schemas.ts";
import type { ExampleConfig } from "../../contract/config/example-configs.ts";
import type { Operation } from "../../contract/config/job-operations.ts";
import { type RawJson, rawNumbersOf } from "../../contract/json/json-text.ts";
import { h, html, onText, select } from "../../view/html.ts";
import { DataSection, type ReadyInputs } from "../inputs/data-section.ts";
import { readInputs, type StoredInputs, urlsFor } from "../inputs/stored-inputs.ts";
import { Loaded, THIS_VIEW, useView, type ViewContext } from "../view.ts";
import { Candidates, candidatesPath } from "./candidates.ts";
import { type Draft, draftValue, readDraft, withMember, withMembers } from "./draft.ts";
import { type EarlierPayload, earlierPayload } from "./earlier-payload.ts";
import { pathName } from "./faults.ts";
import type { Folds } from "./field.ts";
import { formSchemas, payloadSchema } from "./form-schemas.ts";
import { hasDraft, takeDraft } from "./kept-drafts.ts";
import { MODEL_PARAMS, ModelParameters } from "./parameters.ts";
import { PayloadForm } from "./payload-form.ts";
import { allParts, formParts } from "./schema-fields.ts";

const JOBS: Readonly<Record<Operation, string>> = {
  run_ml_job: "Regressors",
  run_dl_job: "Neural networks",
};
const NAMES = Object.keys(JOBS) as Operation[];
const URLS = ["feature_url", "data_extractor_url"] as const;
/** Payload members that stay when the reader switches to the other job. */
const SHARED = [...URLS, "start", "end", "learning_end", "portable", "tags"];

const MORE = "More settings";

/** The few settings that decide what a job trains; the defaults of the others suit most jobs. */
const JOB_FOLDS: Folds = {
  "": { shown: ["config"], label: "Input URLs, window and tags" },
  "config/ML params": { shown: ["model", "model_params", "fit", "target", "intervals"], label: MORE },
  "config/ML params/intervals": { shown: ["alpha"], label: MORE },
  "config/NN params/Dot prediction": {
    shown: ["current option", "data_processing", "training_params", "target", "intervals"],
    label: MORE,
  },
  "config/NN params/Dot prediction/training_params": {
    shown: ["epochs", "learning_rate", "ensemble"],
    label: MORE,
  },
  "config/NN params/Dot prediction/intervals": { shown: ["alpha"], label: MORE },
};

const OFFERED_LATER =
  "Stored. The form is unchanged because the JSON has an error. After you fix it, choose the data again.";
const NOT_CHOSEN = "The form is unchanged because the JSON has an error. Fix it, then choose the data again.";

type Start = readonly [schemas: FormSchemas, stored: StoredInputs, earlier: EarlierPayload | undefined];

/**
 * Submits a job. The address may have `operation`, `feature_url` and `data_extractor_url`, or `again`, the id of an earlier job whose
 * payload the form then has.
 */
export function JobForm(): VNode {
  const context = useView();
  return h(Loaded<Start>, {
    read: () => Promise.all([formSchemas(), readInputs(context), earlierPayload(context)]),
    show: (start) => h(LoadedJobForm, { start }),
  });
}

function LoadedJobForm({ start }: { readonly start: Start }): VNode {
  const [schemas, first, earlier] = start;
  const context = useView();
  const { params, notify } = context;
  const [operation, setOperation] = useState<Operation>(
    () =>
      NAMES.find(hasDraft) ??
      NAMES.find((name) => name === (earlier?.operation ?? params.get("operation"))) ??
      "run_ml_job",
  );
  const [drafts, setDrafts] = useState<Readonly<Partial<Record<Operation, Draft>>>>(() => ({
    [operation]: firstDraft(operation, earlier, context),
  }));
  const [asked, setAsked] = useState(0);
  const [stored, setStored] = useState(first);
  const draft = drafts[operation]!;
  const setDraft = (changed: Draft) => setDrafts({ ...drafts, [operation]: changed });
  const show = (name: Operation) => {
    const next = drafts[name] ?? firstDraft(name, earlier, context);
    const shared = Object.fromEntries(SHARED.map((member) => [member, draftValue(draft, [member])]));
    setDrafts({
      ...drafts,
      [name]: next.fault === undefined ? withMembers(next, shared, draft.written) : next,
    });
    setOperation(name);
  };
  /** @returns whether the form took them: JSON with an error stays as the reader has written it. */
  const take = (inputs: ReadyInputs): boolean => {
    if (draft.fault === undefined) setDraft(withMembers(draft, { ...inputs }));
    return draft.fault === undefined;
  };
  const id = useId();
  const parts = formParts(payloadSchema(schemas, operation));
  const fields = allParts(parts);
  return html`
    ${earlier !== undefined && html`<p class="hint">${earlier.note}</p>`}
    ${h(DataSection, {
      schemas,
      stored,
      asked,
      urls: URLS.map((name) => draftValue(draft, [name])),
      onChosen: (inputs) => {
        const isTaken = take(inputs);
        if (!isTaken) notify(NOT_CHOSEN, "failed", THIS_VIEW);
        return isTaken;
      },
      onStored: (inputs) => {
        notify(take(inputs) ? "Stored. The form now has its URL." : OFFERED_LATER, "done", THIS_VIEW);
        // It rejects only after the reader has left.
        readInputs(context).then(setStored, () => undefined);
      },
    })}
    <fieldset class="jobs"><legend>Job</legend>${NAMES.map(
      (name) => html`<label class="check">
        <input type="radio" name=${`${id}-job`} value=${name} checked=${name === operation} onChange=${() => show(name)} />
        ${`${JOBS[name]} (${name})`}</label>`,
    )}</fieldset>
    ${h(ExampleChooser, {
      key: `${operation} example`,
      examples: schemas.examples.filter((example) => example.operation === operation),
      draft,
      onDraft: setDraft,
    })}
    ${h(PayloadForm, {
      key: operation,
      operation,
      parts,
      folds: JOB_FOLDS,
      draft,
      onDraft: setDraft,
      submit: "Submit job",
      isReady: () => {
        const isChosen = URLS.some((name) => typeof draftValue(draft, [name]) === "string");
        if (!isChosen) setAsked(asked + 1);
        return isChosen;
      },
      problem: earlier?.operation === operation ? earlier.problem : undefined,
      extras: {
        [pathName(MODEL_PARAMS)]: () => h(ModelParameters, { schemas }),
        [candidatesPath(operation)]: () => h(Candidates, { operation, schemas, fields }),
      },
      offered: ({ path }) => urlsFor(stored, path),
    })}`;
}

function firstDraft(
  operation: Operation,
  earlier: EarlierPayload | undefined,
  { params, notify }: ViewContext,
): Draft {
  const kept = takeDraft(operation, notify);
  if (kept !== undefined) return readDraft(kept);
  if (earlier?.operation === operation) return readDraft(earlier.text);
  const urls = URLS.flatMap((name) => (params.has(name) ? [[name, params.get(name)]] : []));
  return readDraft(JSON.stringify(Object.fromEntries(urls), null, 2));
}

interface ExampleChooserProps {
  readonly examples: readonly ExampleConfig[];
  readonly draft: Draft;
  onDraft(draft: Draft): void;
}

/** Offers the example configs of a job. The chosen one becomes the config; what it has replaced comes back with one click. */
function ExampleChooser({ examples, draft, onDraft }: ExampleChooserProps): VNode {
  const id = useId();
  const names = examples.map((example) => [example.name, example.name] as const);
  const [name, setName] = useState("");
  const [said, say] = useState("");
  const [replaced, setReplaced] = useState<Draft>();
  const pick = (value: string) => {
    const { config, summary } = examples.find((example) => example.name === value)!;
    setName(value);
    if (draft.fault !== undefined) return say("Fix the JSON first.");
    const before = draftValue(draft, ["config"]);
    const texts = new Set(examples.map((example) => JSON.stringify(example.config)));
    setReplaced(before === undefined || texts.has(JSON.stringify(before)) ? undefined : draft);
    onDraft(withMember(draft, { path: ["config"], value: rawNumbersOf(JSON.stringify(config)) as RawJson }));
    say(`The form now has the config ${value}. ${summary}.`);
  };
  const undo = () => {
    onDraft(replaced!);
    setReplaced(undefined);
    setName("");
    say("The form has your own config again.");
  };
  return html`<div class="field examples">
    <label for=${id}>Start from an example config</label>
    <div class="beside">
      ${select(name, [...(name === "" ? [["", "choose one"] as const] : []), ...names], {
        id,
        "aria-describedby": `${id}-hint`,
        onChange: onText(pick),
      })}
      ${replaced !== undefined && html`<button type="button" onClick=${undo}>Undo</button>`}
    </div>
    <p class="hint" id=${`${id}-hint`} role="status">${said}</p>
  </div>`;
}
