import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { h, html } from "../../view/html.ts";
import { PrepareForm } from "./prepare-form.ts";
import { UploadList } from "./upload-list.ts";

/** URLs of inputs, by the payload members that take them. */
export interface ReadyInputs {
  readonly feature_url?: string;
  readonly data_extractor_url?: string;
}

/** The ways to get inputs into the service. */
export function Inputs({ onReady }: { onReady(inputs: ReadyInputs): void }): VNode {
  return html`<div class="ways">
    <section><h2>Prepare input blobs from prices</h2>${h(PrepareForm, {
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
  return html`${h(Inputs, { onReady: (more) => setInputs((before) => ({ ...before, ...more })) })}
    <p role="status">${inputs && html`<a href=${`#/job?${new URLSearchParams({ ...inputs })}`}>Submit a job with these inputs</a>`}</p>`;
}
