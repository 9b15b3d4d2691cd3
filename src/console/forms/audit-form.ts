import { element, fill } from "../dom.ts";
import type { View, ViewContext } from "../view.ts";
import { earlierPayload } from "./earlier-payload.ts";
import { formParts } from "./fields/schema-fields.ts";
import { formSchemas, payloadSchema } from "./form-schemas.ts";
import { offerKnownBlobs } from "./inputs/url-fields.ts";
import { PayloadForm } from "./payload/payload-form.ts";
import { payloadOf, type RecordedRequest, recordedRequest } from "./recorded-request.ts";

const INTRODUCTION =
  "Checks the inputs and the forecasts of a job for look-ahead. The audit cuts both blobs and runs the job again, compares the blobs with those of an earlier day, tests every feature, and permutes the labels.";

/** Audits the inputs of a job. The address may have `operation`, the id of a job that succeeded, or `again`, the id of an earlier audit. */
export const showAuditForm: View = async (container, context) => {
  const [schemas, earlier] = await Promise.all([formSchemas(), earlierPayload(context)]);
  const audited = earlier ?? (await auditedJob(context));
  const form = new PayloadForm({
    operation: "audit",
    parts: formParts(payloadSchema(schemas, "audit")),
    initial: audited.initial,
    submit: "Submit audit",
    context,
  });
  offerKnownBlobs(form, context);
  fill(
    container,
    element("p", { class: "what" }, INTRODUCTION),
    audited.note !== undefined && element("p", { class: "hint" }, audited.note),
    form.element,
  );
  if (earlier?.problem !== undefined) form.explain(earlier.problem);
};

/** The initial payload of the form, and a note about it for the reader. */
interface AuditedJob {
  readonly initial: string;
  readonly note?: string;
}

async function auditedJob({ client, params, baseUrl, signal }: ViewContext): Promise<AuditedJob> {
  const id = params.get("operation");
  if (id === null) return { initial: "{}" };
  const { result } = await client.getOperation(id, { signal });
  if (result === null) return { initial: "{}", note: `Operation ${id} has no output, so the form is empty.` };
  const recorded = await recordedRequest(client, result.output_name, { baseUrl, signal });
  if (recorded === undefined)
    return { initial: "{}", note: `${result.output_name} does not record its inputs, so the form is empty.` };
  return { initial: payloadOf(recorded), note: sourceNote(recorded, result.output_name) };
}

function sourceNote({ config }: RecordedRequest, output: string): string {
  if (config === undefined)
    return `Filled in from ${output}, which does not record its config. Enter the config below.`;
  return `Filled in from ${output}. If a blob has been replaced since, the audit reads the new one. The verdict contains the digests of the blobs that it read.`;
}
