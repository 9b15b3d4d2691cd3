import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { FormSchemas } from "../../contract/api/published-schemas.ts";
import { h, html } from "../../view/html.ts";
import { readInputs, type StoredInputs, urlsFor } from "../inputs/stored-inputs.ts";
import { Loaded, useView, type ViewContext } from "../view.ts";
import { readDraft } from "./draft.ts";
import { auditedPayload, type EarlierPayload, earlierPayload, replayedPayload } from "./earlier-payload.ts";
import type { Folds } from "./field.ts";
import { formSchemas, payloadSchema } from "./form-schemas.ts";
import { takeDraft } from "./kept-drafts.ts";
import { PayloadForm } from "./payload-form.ts";
import { formParts } from "./schema-fields.ts";

interface Check {
  readonly operation: "audit" | "replay";
  readonly introduction: string;
  readonly submit: string;
  readonly folds: Folds;
  /** The payload of a check of another operation that the address names. */
  start(context: ViewContext): Promise<EarlierPayload | undefined>;
}

const AUDIT: Check = {
  operation: "audit",
  introduction:
    "Checks the inputs and the forecasts of a job for look-ahead. The audit cuts both blobs and runs the job again, compares the blobs with those of an earlier day, tests every feature, and permutes the labels.",
  submit: "Submit audit",
  folds: {
    "": {
      shown: ["feature_url", "data_extractor_url", "config", "checks"],
      label: "Blobs of an earlier day, window and options",
    },
  },
  start: auditedPayload,
};

const REPLAY: Check = {
  operation: "replay",
  introduction:
    "Runs the job of an output again on the same inputs and compares the two outputs number by number. Only output_url is required.",
  submit: "Submit replay",
  folds: { "": { shown: ["output_url"], label: "Inputs that have moved, and options" } },
  start: replayedPayload,
};

/** Audits the inputs of a job. The address may have `operation`, the id of a job that succeeded, or `again`, the id of an earlier audit. */
export function AuditForm(): VNode {
  return checkForm(AUDIT, useView());
}

/** Replays an output. The address may have `output`, its URL, or `operation`, the id of a job that succeeded, or `again`, the id of an earlier replay. */
export function ReplayForm(): VNode {
  return checkForm(REPLAY, useView());
}

type Start = readonly [schemas: FormSchemas, stored: StoredInputs, earlier: EarlierPayload | undefined];

function checkForm(check: Check, context: ViewContext): VNode {
  const earlier = async () => (await earlierPayload(context)) ?? check.start(context);
  return h(Loaded<Start>, {
    read: () => Promise.all([formSchemas(), readInputs(context), earlier()]),
    show: (start) => h(CheckForm, { check, start }),
  });
}

function CheckForm({ check, start }: { readonly check: Check; readonly start: Start }): VNode {
  const { notify } = useView();
  const { operation, introduction, submit, folds } = check;
  const [schemas, stored, earlier] = start;
  const [draft, onDraft] = useState(() => readDraft(takeDraft(operation, notify) ?? earlier?.text ?? "{}"));
  const all = formParts(payloadSchema(schemas, operation));
  // The bytes of a replayed config matter, and a field would rewrite them.
  const parts = operation === "audit" ? all : all.filter(({ name }) => name !== "config");
  const offered = ({ path }: { readonly path: readonly string[] }) => urlsFor(stored, path);
  return html`<p class="what">${introduction}</p>
    ${earlier !== undefined && earlier.note !== "" && html`<p class="hint">${earlier.note}</p>`}
    ${h(PayloadForm, { operation, parts, folds, draft, onDraft, submit, problem: earlier?.problem, offered })}`;
}
