import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { FormSchemas } from "../../contract/api/published-schemas.ts";
import { h, html } from "../../view/html.ts";
import { readInputs, type StoredInputs, urlsFor } from "../inputs/stored-inputs.ts";
import { Loaded, useView, type ViewContext } from "../view.ts";
import { readDraft } from "./draft.ts";
import { auditedPayload, type EarlierPayload, earlierPayload } from "./earlier-payload.ts";
import type { Folds } from "./field.ts";
import { formSchemas, payloadSchema } from "./form-schemas.ts";
import { takeDraft } from "./kept-drafts.ts";
import { PayloadForm } from "./payload-form.ts";
import { formParts } from "./schema-fields.ts";

const AUDIT =
  "Checks the inputs and the forecasts of a job for look-ahead. The audit cuts both blobs and runs the job again, compares the blobs with those of an earlier day, tests every feature, and permutes the labels.";
const REPLAY =
  "Runs the job of an output again on the same inputs and compares the two outputs number by number. Only output_url is required.";

const AUDIT_FOLDS: Folds = {
  "": {
    shown: ["feature_url", "data_extractor_url", "config", "checks"],
    label: "Blobs of an earlier day, window and options",
  },
};
const REPLAY_FOLDS: Folds = { "": { shown: ["output_url"], label: "Inputs that have moved, and options" } };

/** Audits the inputs of a job. The address may have `operation`, the id of a job that succeeded, or `again`, the id of an earlier audit. */
export function AuditForm(): VNode {
  const context = useView();
  return h(Loaded<Start>, {
    read: () => startOf(context, async () => (await earlierPayload(context)) ?? auditedPayload(context)),
    show: (start) =>
      h(CheckForm, {
        operation: "audit",
        introduction: AUDIT,
        submit: "Submit audit",
        folds: AUDIT_FOLDS,
        ...start,
      }),
  });
}

/** Replays an output. The address may have `output`, its URL, or `operation`, the id of a job that succeeded, or `again`, the id of an earlier replay. */
export function ReplayForm(): VNode {
  const context = useView();
  const { client, params, signal } = context;
  const outputOf = async (): Promise<EarlierPayload | undefined> => {
    const id = params.get("operation");
    const url =
      id === null ? params.get("output") : (await client.getOperation(id, { signal })).result?.output_url;
    if (url == null) return undefined;
    return {
      operation: "replay",
      text: JSON.stringify({ output_url: url }, null, 2),
      note: "",
      problem: undefined,
    };
  };
  return h(Loaded<Start>, {
    read: () => startOf(context, async () => (await earlierPayload(context)) ?? outputOf()),
    show: (start) =>
      h(CheckForm, {
        operation: "replay",
        introduction: REPLAY,
        submit: "Submit replay",
        folds: REPLAY_FOLDS,
        ...start,
      }),
  });
}

interface Start {
  readonly schemas: FormSchemas;
  readonly earlier: EarlierPayload | undefined;
  readonly stored: StoredInputs;
}

async function startOf(
  context: ViewContext,
  read: () => Promise<EarlierPayload | undefined>,
): Promise<Start> {
  const [schemas, earlier, stored] = await Promise.all([formSchemas(), read(), readInputs(context)]);
  return { schemas, earlier, stored };
}

interface CheckFormProps extends Start {
  readonly operation: "audit" | "replay";
  readonly introduction: string;
  readonly submit: string;
  readonly folds: Folds;
}

function CheckForm({
  operation,
  introduction,
  submit,
  folds,
  schemas,
  earlier,
  stored,
}: CheckFormProps): VNode {
  const context = useView();
  const [draft, setDraft] = useState(() =>
    readDraft(takeDraft(operation, context.notify) ?? earlier?.text ?? "{}"),
  );
  const parts = formParts(payloadSchema(schemas, operation));
  return html`<p class="what">${introduction}</p>
    ${earlier !== undefined && earlier.note !== "" && html`<p class="hint">${earlier.note}</p>`}
    ${h(PayloadForm, {
      operation,
      // The bytes of a replayed config matter, and a field would rewrite them.
      parts: operation === "audit" ? parts : parts.filter(({ name }) => name !== "config"),
      folds,
      draft,
      onDraft: setDraft,
      submit,
      problem: earlier?.problem,
      offered: ({ path }) => urlsFor(stored, path),
    })}`;
}
