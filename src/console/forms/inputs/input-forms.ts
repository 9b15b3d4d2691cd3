import { h, render } from "preact";
import { element, fill } from "../../dom.ts";
import { type BlobName, rememberBlob } from "../../inputs/blob-name.ts";
import { UploadList } from "../../inputs/upload-list.ts";
import { type View, type ViewContext, VisibleView } from "../../view.ts";
import { makePrepareForm } from "./prepare-form.ts";

/** URLs of inputs, by the payload members that take them. */
export interface ReadyInputs {
  readonly feature_url?: string;
  readonly data_extractor_url?: string;
}

/**
 * The ways to get inputs into the service.
 * @param ready is called with the stored inputs.
 */
export function makeInputs(context: ViewContext, ready: (inputs: ReadyInputs) => void): HTMLElement {
  const uploads = element("div");
  const onStored = ({ kind }: BlobName, url: string) => {
    rememberBlob(context.client, url);
    ready(kind === "feature_engine" ? { feature_url: url } : { data_extractor_url: url });
  };
  render(h(VisibleView.Provider, { value: context, children: h(UploadList, { onStored }) }), uploads);
  const preparation = makePrepareForm(context, ({ feature_url, data_extractor_url }) => {
    rememberBlob(context.client, feature_url);
    rememberBlob(context.client, data_extractor_url);
    ready({ feature_url, data_extractor_url });
  });
  return element(
    "div",
    { class: "ways" },
    element("section", {}, element("h2", {}, "Prepare input blobs from prices"), preparation),
    element("section", { class: "upload-blobs" }, element("h2", {}, "Upload input blobs"), uploads),
  );
}

/** Uploads inputs, or prepares them, and links to the job that uses them. */
export const showUploadForm: View = (container, context) => {
  let inputs: ReadyInputs = {};
  const next = element("p", { role: "status" });
  const ready = (more: ReadyInputs) => {
    inputs = { ...inputs, ...more };
    fill(
      next,
      element("a", { href: `#/job?${new URLSearchParams({ ...inputs })}` }, "Submit a job with these inputs"),
    );
  };
  container.append(makeInputs(context, ready), next);
};
