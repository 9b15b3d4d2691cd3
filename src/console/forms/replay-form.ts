import { element, fill } from "../dom.ts";
import type { View, ViewContext } from "../view.ts";
import { earlierPayload } from "./earlier-payload.ts";
import { formParts } from "./fields/schema-fields.ts";
import { formSchemas, payloadSchema } from "./form-schemas.ts";
import { PayloadForm } from "./payload/payload-form.ts";

const INTRODUCTION =
  "Runs the job of an output again on the same inputs and compares the two outputs number by number. Only output_url is required. Fill in the other fields if the inputs have moved since. An output of an older version that did not record its config needs that config, byte for byte, as config in the JSON.";

/** Replays an output. The address may have `output`, its URL, or `operation`, the id of a job that succeeded, or `again`, the id of an earlier replay. */
export const showReplayForm: View = async (container, context) => {
  const [schemas, output, earlier] = await Promise.all([
    formSchemas(),
    outputOf(context),
    earlierPayload(context),
  ]);
  const parts = formParts(payloadSchema(schemas, "replay"));
  const form = new PayloadForm({
    operation: "replay",
    // The bytes of a config matter, and a field would rewrite them.
    parts: parts.filter(({ name }) => name !== "config"),
    initial: earlier?.initial ?? JSON.stringify(output === undefined ? {} : { output_url: output }, null, 2),
    submit: "Submit replay",
    context,
  });
  fill(
    container,
    element("p", { class: "what" }, INTRODUCTION),
    earlier !== undefined && element("p", { class: "hint" }, earlier.note),
    form.element,
  );
  if (earlier?.problem !== undefined) form.explain(earlier.problem);
};

async function outputOf({ client, params, signal }: ViewContext): Promise<string | undefined> {
  const id = params.get("operation");
  if (id === null) return params.get("output") ?? undefined;
  return (await client.getOperation(id, { signal })).result?.output_url;
}
