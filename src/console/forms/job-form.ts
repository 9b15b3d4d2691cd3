import type { ExampleConfig } from "../../contract/config/example-configs.ts";
import type { Operation } from "../../contract/config/job-operations.ts";
import { type RawJson, rawNumbersOf } from "../../contract/json/json-text.ts";
import { element, fill } from "../dom.ts";
import { THIS_VIEW, type View, type ViewContext } from "../view.ts";
import { addCandidateEditor } from "./candidates/candidate-editor.ts";
import { earlierPayload } from "./earlier-payload.ts";
import { newId } from "./fields/field-control.ts";
import { JOB_FOLDS, reveal } from "./fields/folds.ts";
import { formParts } from "./fields/schema-fields.ts";
import { formSchemas, payloadSchema } from "./form-schemas.ts";
import { DataSection } from "./inputs/data-section.ts";
import type { ReadyInputs } from "./inputs/input-forms.ts";
import { offerKnownBlobs } from "./inputs/url-fields.ts";
import { addModelParameters } from "./model-parameters.ts";
import { hasDraft } from "./payload/payload-draft.ts";
import { PayloadForm } from "./payload/payload-form.ts";

/** The two jobs, in words. */
const JOBS: Readonly<Record<Operation, string>> = {
  run_ml_job: "Regressors",
  run_dl_job: "Neural networks",
};

const URLS = ["feature_url", "data_extractor_url"];

const NAMES = Object.keys(JOBS) as Operation[];

/** Payload members that stay when the reader switches to the other job. */
const SHARED = ["feature_url", "data_extractor_url", "start", "end", "learning_end", "portable", "tags"];

const OFFERED_LATER =
  "Stored. The form is unchanged because the JSON has an error. After you fix it, choose the data again.";
const NOT_CHOSEN = "The form is unchanged because the JSON has an error. Fix it, then choose the data again.";

/**
 * Submits a job. The address may have `operation`, `feature_url` and `data_extractor_url`, or `again`, the id of an earlier job whose
 * payload the form then has.
 */
export const showJobForm: View = async (container, context) => {
  const [schemas, earlier] = await Promise.all([formSchemas(), earlierPayload(context)]);
  const initialFor = (operation: Operation) =>
    earlier?.operation.operation === operation ? earlier.initial : initialOf(context);
  const forms = new Map<Operation, JobForm>();
  const place = element("div");
  let shown: JobForm | undefined;
  const show = (operation: Operation) => {
    const next =
      forms.get(operation) ??
      makeJobForm(operation, initialFor(operation), schemas, context, {
        onChange: () => showChosen(),
        onMissing: () => data.ask(),
      });
    forms.set(operation, next);
    if (shown !== undefined && shown !== next) copyShared(next.form, shown.form);
    shown = next;
    fill(place, next.examples, next.form.element);
    showChosen();
  };
  const take = (blobs: ReadyInputs) =>
    Object.entries(blobs).every(([name, url]) => shown?.form.set([name], url));
  const data = await DataSection.open({
    context,
    onChosen: (blobs) => {
      if (!take(blobs)) context.notify(NOT_CHOSEN, "failed", THIS_VIEW);
      showChosen();
    },
    onStored: (blobs) => {
      for (const { refresh } of forms.values()) refresh();
      context.notify(take(blobs) ? "Stored. The form now has its URL." : OFFERED_LATER, "done", THIS_VIEW);
    },
  });
  const showChosen = () =>
    data.show(shown?.form.valueAt(["feature_url"]), shown?.form.valueAt(["data_extractor_url"]));
  const first =
    NAMES.find(hasDraft) ??
    NAMES.find((name) => name === (earlier?.operation.operation ?? context.params.get("operation"))) ??
    "run_ml_job";
  const names = newId();
  fill(
    container,
    earlier !== undefined && element("p", { class: "hint" }, earlier.note),
    data.element,
    element(
      "fieldset",
      { class: "jobs" },
      element("legend", {}, "Job"),
      ...NAMES.map((name) => {
        const radio = element("input", { type: "radio", name: names, value: name, checked: name === first });
        radio.addEventListener("change", () => show(name));
        return element("label", { class: "check" }, radio, `${JOBS[name]} (${name})`);
      }),
    ),
    place,
  );
  show(first);
  // The URLs themselves matter only if they name no stored set.
  if (!showChosen() && hasUrls(shown!.form)) revealUrls(shown!.form);
  if (earlier?.problem !== undefined) forms.get(first)!.form.explain(earlier.problem);
};

interface JobForm {
  readonly form: PayloadForm;
  readonly examples: HTMLElement;
  /** Offers blobs that were uploaded in the meantime. */
  refresh(): void;
}

function makeJobForm(
  operation: Operation,
  initial: string,
  schemas: Awaited<ReturnType<typeof formSchemas>>,
  context: ViewContext,
  { onChange, onMissing }: { readonly onChange: () => void; readonly onMissing: () => void },
): JobForm {
  const parts = formParts(payloadSchema(schemas, operation));
  const form: PayloadForm = new PayloadForm({
    operation,
    parts,
    folds: JOB_FOLDS,
    initial,
    submit: "Submit job",
    isReady: () => {
      if (hasUrls(form)) return true;
      onMissing();
      return false;
    },
    context,
  });
  if (operation === "run_ml_job") addModelParameters(form, schemas);
  addCandidateEditor(form, schemas);
  const before = form.onChange;
  form.onChange = () => {
    before();
    onChange();
  };
  const examples = schemas.examples.filter((example) => example.operation === operation);
  return { form, examples: exampleChooser(form, examples), refresh: offerKnownBlobs(form, context) };
}

const CONFIG = ["config"];

/** Offers the example configs of a job. The selected one becomes the config at once, or at a click if the reader has edited the config. */
function exampleChooser(form: PayloadForm, examples: readonly ExampleConfig[]): HTMLElement {
  const id = newId();
  const about = element("p", { class: "hint", id: `${id}-hint`, role: "status" });
  const chosen = element(
    "select",
    { id, "aria-describedby": `${id}-hint` },
    element("option", { value: "", disabled: true, selected: true }, "choose one"),
    ...examples.map(({ name }) => element("option", { value: name }, name)),
  );
  const use = element("button", { type: "button", hidden: true }, "Use this config");
  const found = () => examples.find(({ name }) => name === chosen.value)!;
  let used: string | undefined;
  const take = () => {
    const { name, config, summary } = found();
    const text = JSON.stringify(config);
    const isTaken = form.set(CONFIG, rawNumbersOf(text) as RawJson);
    if (isTaken) used = text;
    use.hidden = isTaken;
    fill(about, isTaken ? `The form now has the config ${name}. ${summary}.` : "Fix the JSON first.");
  };
  chosen.addEventListener("change", () => {
    if (JSON.stringify(form.valueAt(CONFIG)) === used) return take();
    use.hidden = false;
    fill(about, `${found().summary}. It would replace the config that you have edited.`);
  });
  use.addEventListener("click", take);
  return element(
    "div",
    { class: "field examples" },
    element("label", { for: id }, "Start from an example config"),
    element("div", { class: "beside" }, chosen, use),
    about,
  );
}

function hasUrls(form: PayloadForm): boolean {
  return URLS.some((name) => typeof form.valueAt([name]) === "string");
}

function revealUrls(form: PayloadForm): void {
  const control = form.controls.find(({ field }) => field.path.join() === URLS[0]);
  if (control !== undefined) reveal(control.element);
}

function copyShared(next: PayloadForm, former: PayloadForm): void {
  for (const name of SHARED) next.set([name], former.valueAt([name]));
}

/** The inputs that the address names. */
function initialOf({ params }: ViewContext): string {
  const given = URLS.flatMap((name) => {
    const url = params.get(name);
    return url === null ? [] : [[name, url] as const];
  });
  return JSON.stringify(Object.fromEntries(given), null, 2);
}
