import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { FormSchemas } from "../../contract/api/published-schemas.ts";
import { h, html } from "../../view/html.ts";
import { formSchemas } from "../forms/form-schemas.ts";
import { Loaded } from "../view.ts";
import { PrepareForm } from "./prepare-form.ts";
import { UploadList } from "./upload-list.ts";

/** URLs of inputs, by the payload members that take them. */
export interface ReadyInputs {
  readonly feature_url?: string;
  readonly data_extractor_url?: string;
}

interface InputsProps {
  readonly schemas: FormSchemas;
  onReady(inputs: ReadyInputs): void;
}

/** The ways to get inputs into the service. */
export function Inputs({ schemas, onReady }: InputsProps): VNode {
  return html`<div class="ways">
    <section><h2>Prepare input blobs from prices</h2>${h(PrepareForm, {
      schema: schemas.prepare,
      onPrepared: ({ feature_url, data_extractor_url }) => onReady({ feature_url, data_extractor_url }),
    })}</section>
    <section class="upload-blobs"><h2>Upload input blobs</h2>${h(UploadList, {
      onStored: ({ kind }, url) =>
        onReady(kind === "feature_engine" ? { feature_url: url } : { data_extractor_url: url }),
    })}</section>
  </div>`;
}

/** Uploads inputs, or prepares them, and links to the job that uses them. */
export function UploadForm(): VNode {
  const [inputs, setInputs] = useState<ReadyInputs>();
  const onReady = (more: ReadyInputs) => setInputs((before) => ({ ...before, ...more }));
  return html`${h(Loaded<FormSchemas>, { read: formSchemas, show: (schemas) => h(Inputs, { schemas, onReady }) })}
    <p role="status">${inputs && html`<a href=${`#/job?${new URLSearchParams({ ...inputs })}`}>Submit a job with these inputs</a>`}</p>`;
}
